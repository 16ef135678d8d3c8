// The official `ai` package against a running server, with the chat that `useChat` of `@ai-sdk/react` has: one function is one case.
//
// Run with the server's base URLs, each a node of it, an API key, the folder in which the packages are installed, the name under
// which the version of `ai` is installed, and the cases if not all; prints `ok NAME` for each case that holds.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { json, whole } from "./parts.mjs";

const [bases, key, folder, version, ...wanted] = process.argv.slice(2);
const resolve = createRequire(`${folder}/`).resolve;
const ai = await import(pathToFileURL(resolve(version)));
const react = await import(pathToFileURL(resolve(version.replace("ai", "react"))));
const { DefaultChatTransport, validateUIMessages } = ai;
const is7 = version === "ai-7";
const isLatest = version !== "ai-6-0-0";

const nodes = bases.split(",");
const api = `${nodes[0]}/ai-sdk/chat`;
const headers = { authorization: `Bearer ${key}`, ...(is7 && { "x-ambit-ai-sdk": "7" }) };
const TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  },
];

/** Asks one node after the other. */
function ask(url, init) {
  nodes.push(nodes.shift());
  return fetch(String(url).replace(/^.*(?=\/ai-sdk\/)/, nodes[0]), init);
}

/** A transport that remembers what came. */
class Transport extends DefaultChatTransport {
  chunks = [];
  requests = [];
  /** Cuts the connection behind this many chunks. */
  cutAfter = Infinity;

  constructor() {
    super({ api, headers, body: { tools: TOOLS }, fetch: (url, init) => this.send(url, init) });
  }

  async send(url, init) {
    const response = await ask(url, init);
    this.requests.push({ method: init.method, status: response.status, response });
    return response;
  }

  processResponseStream(stream) {
    let count = 0;
    const record = new TransformStream({
      transform: (chunk, controller) => {
        count += 1;
        if (count > this.cutAfter) {
          controller.error(new TypeError("network error"));
          return;
        }
        this.chunks.push(structuredClone(chunk));
        controller.enqueue(chunk);
      },
    });
    return super.processResponseStream(stream).pipeThrough(record);
  }
}

/** A chat that remembers what a page was told of. */
class Chat extends react.Chat {
  constructor({ id = randomUUID(), messages = [], ...init } = {}) {
    const transport = new Transport();
    super({ id, transport, messages, ...init });
    this.transport_ = transport;
    this.shown = { messages: this.messages, status: this.status };
    // As `useChat` subscribes.
    this["~registerMessagesCallback"](() => (this.shown.messages = this.messages));
    this["~registerStatusCallback"](() => (this.shown.status = this.status));
  }

  get record() {
    return this.transport_;
  }

  say = (text, options = {}) => this.sendMessage({ text, ...options });
}

const request = (path, init = {}) => ask(`${api}/${path}`, { headers, ...init });

async function stored(chat, query = "") {
  const response = await request(`${chat.id}/messages?${is7 ? "v=7&" : ""}${query}`);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** What a client holds, as the server is to list it. */
function held(chat) {
  const { chunks } = chat.record;
  return chat.messages.map((message) => {
    if (message.role !== "assistant") return json(message);
    const own = [];
    let current;
    for (const chunk of chunks) {
      if (chunk.type === "start") current = chunk.messageId;
      if (current === message.id) own.push(chunk);
    }
    const parts = whole(message, own);
    // Later versions of 6 keep an id of thinking too, and do not say so.
    if (!is7) parts.filter((part) => part.type === "reasoning").forEach((part) => delete part.id);
    return { ...json(message), parts };
  });
}

/** The client's messages are those that a page shows and that the server lists, which are valid. */
async function same(chat) {
  assert.equal(chat.error, undefined);
  assert.equal(chat.shown.messages, chat.messages);
  assert.equal(chat.shown.status, chat.status);
  const list = await stored(chat);
  assert.deepEqual(list, held(chat));
  await validateUIMessages({ messages: list });
  return list;
}

const texts = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);
const last = (chat) => chat.messages.at(-1);
const call = (message) => message.parts.find((part) => part.toolCallId !== undefined);

async function until(holds) {
  for (let at = 0; at < 24_000 && !holds(); at += 1) {
    await new Promise((wake) => setTimeout(wake, 5));
  }
  assert(holds(), `${holds}`);
}

const CASES = {
  async text() {
    const chat = new Chat();
    await chat.say("hello");
    assert.deepEqual(texts(last(chat)), ["echo: hello"]);
    assert.equal(chat.record.requests[0].response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
    const [said, answer] = await same(chat);
    assert.equal(said.id, chat.messages[0].id);
    assert.equal(answer.metadata.chat_id, chat.id);
    assert.equal(answer.metadata.request_id, answer.id);
    assert.equal(answer.metadata.usage.total_tokens, 12);
    assert.deepEqual(answer.metadata.next, { length: 11 });
    await chat.say("count");
    assert.deepEqual(texts(last(chat)), ["4"]);
    await same(chat);
  },

  async what_a_person_sent_comes_back_as_it_was() {
    const chat = new Chat();
    const file = { type: "file", mediaType: "image/png", url: "https://example.com/a.png", filename: "a.png" };
    await chat.sendMessage({
      parts: [file, { type: "text", text: "count" }, { type: "data-place", data: { page: 3 } }],
      metadata: { from: "a page" },
    });
    await same(chat);
  },

  async thinking() {
    const chat = new Chat();
    await chat.say("think");
    assert.equal(last(chat).parts.find((part) => part.type === "reasoning").text, "Let me think.");
    assert.deepEqual(texts(last(chat)), ["I thought about it."]);
    await same(chat);
  },

  async server_tool() {
    const called = [];
    const chat = new Chat({ onToolCall: ({ toolCall }) => called.push(toolCall) });
    await chat.say("stock");
    const part = call(last(chat));
    assert.equal(part.type, "dynamic-tool");
    assert.equal(part.providerExecuted, true);
    assert.deepEqual([part.input, part.output], [{ of: "lamps" }, { of: "lamps", count: 3 }]);
    assert.deepEqual(called, []);
    assert.equal(last(chat).parts.filter((part) => part.type === "step-start").length, 2);
    await same(chat);
  },

  async client_tool_and_continuation() {
    const chat = new Chat({ sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls });
    await chat.say("weather");
    const part = call(last(chat));
    assert.deepEqual([part.type, part.state, part.input], ["tool-get_weather", "input-available", { city: "Oslo" }]);
    assert.match(part.toolCallId, /^call_[A-Za-z0-9]+_M\d+$/);
    await same(chat);
    await chat.addToolOutput({ tool: "get_weather", toolCallId: part.toolCallId, output: { sky: "clear" } });
    await until(() => chat.status === "ready" && texts(last(chat)).length === 2);
    assert.equal(chat.messages.length, 2);
    assert.deepEqual(texts(last(chat)), ["Wait. ", 'It is {"sky":"clear"}.']);
    const list = await same(chat);
    assert.deepEqual(call(list[1]).output, { sky: "clear" });
    // The same results again: their turn is joined.
    const requests = list[1].metadata.request_id;
    await chat.record.sendMessages({ chatId: chat.id, messages: chat.messages, trigger: "submit-message", messageId: last(chat).id })
      .then((stream) => stream.pipeTo(new WritableStream()));
    const again = chat.record.chunks.findLast((chunk) => chunk.type === "start");
    assert.equal(again.messageMetadata.request_id, requests);
    assert.deepEqual(await stored(chat), list);
  },

  async client_tool_that_fails() {
    const chat = new Chat();
    await chat.say("weather");
    const { toolCallId } = call(last(chat));
    await chat.addToolOutput({ tool: "get_weather", toolCallId, state: "output-error", errorText: "no network" });
    await chat.sendMessage();
    assert.deepEqual(texts(last(chat)), ["Wait. ", "It is no network."]);
    await same(chat);
  },

  async calls_whose_ids_a_provider_repeats() {
    const chat = new Chat();
    await chat.say("twice");
    const outputs = ["clear", "cloudy"];
    for (const output of outputs) {
      const { toolCallId } = last(chat).parts.findLast((part) => part.state === "input-available");
      await chat.addToolOutput({ tool: "get_weather", toolCallId, output });
      await chat.sendMessage();
    }
    assert.deepEqual(texts(last(chat)), ["I was told cloudy."]);
    const calls = last(chat).parts.filter((part) => part.toolCallId);
    assert.notEqual(calls[0].toolCallId, calls[1].toolCallId);
    assert.deepEqual(calls.map((part) => part.output), outputs);
    assert.equal(chat.messages.length, 2);
    await same(chat);
  },

  async a_result_that_comes_too_late_joins_the_turn_that_went_on() {
    const chat = new Chat();
    await chat.say("both");
    const [first, second] = last(chat).parts.flatMap((part) => part.toolCallId ?? []);
    await chat.addToolOutput({ tool: "get_weather", toolCallId: first, output: "clear" });
    await chat.sendMessage();
    const list = await stored(chat);
    await chat.addToolOutput({ tool: "get_weather", toolCallId: second, output: "late" });
    await chat.sendMessage();
    assert.equal(chat.error, undefined);
    assert.deepEqual(await stored(chat), list);
  },

  async unparsable_call() {
    const chat = new Chat();
    await chat.say("garbled");
    const list = await same(chat);
    const part = call(list[1]);
    assert.equal(part.state, "output-error");
    assert.equal(part.input, "{'of': lamps}");
    assert.match(part.errorText, /no JSON/);
    assert.deepEqual(texts(list[1]), ["That went wrong."]);
  },

  async data_parts() {
    const told = [];
    const chat = new Chat({ onData: (part) => told.push(part) });
    await chat.say("show");
    const [, answer] = await same(chat);
    assert.deepEqual(answer.parts[0], { type: "file", mediaType: "image/png", url: "https://example.com/cat.png" });
    const tables = answer.parts.filter((part) => part.type === "data-table");
    assert.deepEqual(tables.map((part) => part.data), [{ rows: [{ name: "Bob" }] }]);
    const actions = told.filter((part) => part.type === "data-action");
    assert.deepEqual(actions.map((part) => part.data.name), ["navigate"]);
    assert(!answer.parts.some((part) => part.type === "data-action"));
  },

  async change_of_type() {
    const chat = new Chat();
    await chat.say("change");
    const [, answer] = await same(chat);
    assert.equal(answer.parts[0].text, "Found it.");
    assert.equal(answer.parts[1].type, "data-chart");
    assert(!answer.parts.some((part) => part.type === "data-table"));
  },

  async replaced_text() {
    const chat = new Chat();
    await chat.say("replace");
    const [, answer] = await same(chat);
    assert.deepEqual(texts(answer), ["Other words that stay", "echo: replace"]);
  },

  async amended_text() {
    const chat = new Chat();
    await chat.say("amend");
    const [, answer] = await same(chat);
    assert.deepEqual(texts(answer), ["amend this (checked)"]);
  },

  async nothing_to_resume() {
    for (const chat of [new Chat(), new Chat()]) {
      await chat.resumeStream();
      assert.equal(chat.record.requests.at(-1).status, 204);
      assert.equal(chat.status, "ready");
      await chat.say("hello");
      await chat.resumeStream();
      assert.equal(chat.record.requests.at(-1).status, 204);
      const stopped = await request(`${chat.id}/stream`, { method: "DELETE" });
      assert.equal(stopped.status, 204);
      await same(chat);
    }
  },

  async edit() {
    const chat = new Chat();
    for (const text of ["one", "two", "three"]) await chat.say(text);
    const { id } = chat.messages[2];
    await chat.say("count", { messageId: id });
    assert.equal(chat.messages.length, 4);
    assert.equal(chat.messages[2].id, id);
    assert.deepEqual(texts(last(chat)), ["4"]);
    await same(chat);
    // With other content under the same id, which no field names.
    chat.messages = chat.messages.slice(0, 2);
    await chat.sendMessage({ id, parts: [{ type: "text", text: "four" }] });
    assert.deepEqual(texts(last(chat)), ["echo: four"]);
    await same(chat);
  },

  async regenerate_with_id() {
    const chat = new Chat();
    for (const text of ["one", "two", "three"]) await chat.say(text);
    const before = chat.messages[1].id;
    await chat.regenerate({ messageId: before });
    assert.equal(chat.messages.length, 2);
    assert.notEqual(last(chat).id, before);
    await same(chat);
    // Behind a question.
    await chat.say("two");
    await chat.regenerate({ messageId: chat.messages[0].id });
    assert.equal(chat.messages.length, 2);
    await same(chat);
  },

  async regenerate_without_id() {
    const chat = new Chat();
    for (const text of ["one", "count"]) await chat.say(text);
    await chat.regenerate();
    assert.deepEqual(texts(last(chat)), ["4"]);
    await same(chat);
  },

  async regenerate_what_is_unknown() {
    const chat = new Chat();
    await chat.say("one");
    const before = await stored(chat);
    const sent = chat.record.sendMessages({
      chatId: chat.id,
      messages: chat.messages,
      trigger: "regenerate-message",
      messageId: "nobody",
    });
    await assert.rejects(sent);
    assert.equal(chat.record.requests.at(-1).status, 404);
    assert.deepEqual(await stored(chat), before);
  },

  async repeat() {
    const chat = new Chat();
    await chat.say("hello");
    const first = await stored(chat);
    const repeated = { chatId: chat.id, messages: [chat.messages[0]], trigger: "submit-message" };
    const stream = await chat.record.sendMessages(repeated);
    await stream.pipeTo(new WritableStream());
    const starts = chat.record.chunks.filter((chunk) => chunk.type === "start");
    assert.deepEqual(starts[1], starts[0]);
    assert.deepEqual(await stored(chat), first);
    // Several at the same time are one as well.
    const id = randomUUID();
    const message = { id: randomUUID(), role: "user", parts: [{ type: "text", text: "slow" }] };
    const transports = Array.from({ length: 4 }, () => new Transport());
    const all = transports.map(async (transport) => {
      const stream = await transport.sendMessages({ chatId: id, messages: [message], trigger: "submit-message" });
      await stream.pipeTo(new WritableStream());
      return transport.chunks;
    });
    const [one, ...others] = await Promise.all(all);
    assert(one.some((chunk) => chunk.type === "finish"));
    others.forEach((chunks) => assert.deepEqual(chunks, one));
    assert.equal((await stored({ id })).length, 2);
  },

  async a_stale_copy_changes_nothing() {
    const chat = new Chat();
    await chat.say("weather");
    const { toolCallId } = call(last(chat));
    await chat.addToolOutput({ tool: "get_weather", toolCallId, output: "clear" });
    await chat.sendMessage();
    const before = await stored(chat);
    const forged = structuredClone(chat.messages);
    call(forged[1]).output = "forged";
    forged[0].parts = [{ type: "text", text: "forged" }];
    forged.push({ id: randomUUID(), role: "user", parts: [{ type: "text", text: "count" }] });
    const stream = await chat.record.sendMessages({ chatId: chat.id, messages: forged, trigger: "submit-message" });
    await stream.pipeTo(new WritableStream());
    const after = await stored(chat);
    assert.deepEqual(after.slice(0, 2), before);
    assert.deepEqual(texts(after[3]), ["6"]);
  },

  async a_message_that_comes_in_meanwhile() {
    const chat = new Chat();
    const answered = chat.say("slow");
    await until(() => chat.record.chunks.some((chunk) => chunk.type === "text-delta"));
    const { context_id } = chat.record.chunks.find((chunk) => chunk.type === "start").messageMetadata;
    const added = await fetch(`${nodes[0]}/chat/completions/${context_id}/append`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ type: "graceful", messages: [{ role: "user", content: "hello" }] }),
    });
    assert.equal(added.status, 202);
    await answered;
    const part = last(chat).parts.find(({ type }) => type === (is7 ? "steering-message" : "data-user_input"));
    assert.deepEqual(is7 ? part.parts[0].text : part.data.content, "hello");
    assert.deepEqual(texts(last(chat)).at(-1), "echo: hello");
    await same(chat);
  },

  async stop_and_send_again() {
    const chat = new Chat();
    const said = chat.say("slow");
    await until(() => chat.record.chunks.some((chunk) => chunk.type === "text-delta"));
    await chat.stop();
    await said;
    await chat.say("count");
    assert.equal(chat.error, undefined);
    assert.equal(last(chat).role, "assistant");
    const list = await stored(chat);
    assert.deepEqual(list.map((message) => message.role), ["user", "assistant", "user", "assistant"]);
    assert.deepEqual(list.at(-1), held(chat).at(-1));
    assert(texts(list[1])[0].startsWith("one "));
    await validateUIMessages({ messages: list });
  },

  async stop_on_the_server() {
    const chat = new Chat();
    const said = chat.say("slow");
    await until(() => chat.record.chunks.some((chunk) => chunk.type === "text-delta"));
    const stopped = await request(`${chat.id}/stream`, { method: "DELETE" });
    assert.equal(stopped.status, 202);
    await said;
    assert.equal(chat.record.chunks.at(-1).type, "abort");
    await same(chat);
  },

  async failure() {
    for (const text of ["fail", "break off"]) {
      const chat = new Chat();
      await chat.say(text);
      assert.equal(chat.status, "error");
      // The client reads no further than this.
      assert.deepEqual(chat.record.chunks.at(-1), { type: "error", errorText: chat.error.message });
      chat.clearError();
      await same(chat);
      await chat.regenerate();
      assert.equal(chat.status, "error");
      chat.clearError();
      await chat.say("count");
      assert.equal(chat.status, "ready");
    }
  },

  async older_messages_are_listed_in_pages() {
    const chat = new Chat();
    for (const text of ["one", "two", "three"]) await chat.say(text);
    const pages = [];
    let before = "";
    do {
      const response = await request(`${chat.id}/messages?${is7 ? "v=7&" : ""}limit=2${before}`);
      pages.unshift(...(await response.json()));
      const next = response.headers.get("x-ambit-next");
      before = next && `&before=${next}`;
    } while (before);
    assert.deepEqual(pages, held(chat));
    const single = (await request(`${chat.id}/messages?limit=1`)).headers.get("x-ambit-next");
    assert(Number(single) > 0);
  },
};

const LATEST = {
  async resume_after_reload() {
    const chat = new Chat();
    const said = chat.say("slow");
    await until(() => chat.record.chunks.some((chunk) => chunk.type === "text-delta"));
    const reloaded = new Chat({ id: chat.id, messages: await stored(chat) });
    assert.deepEqual(reloaded.messages.map((message) => message.role), ["user"]);
    await reloaded.resumeStream();
    await said;
    assert.deepEqual(json(reloaded.messages), json(chat.messages));
    assert.deepEqual(reloaded.record.chunks, chat.record.chunks);
    await same(reloaded);
  },

  async resume_after_cut() {
    const chat = new Chat();
    chat.record.cutAfter = 5;
    await chat.say("slow");
    assert.equal(chat.status, "error");
    chat.clearError();
    const resumed = new Chat({ id: chat.id, messages: await stored(chat) });
    await resumed.resumeStream();
    assert.deepEqual(texts(last(resumed)), ["one two three four five six seven eight nine ten"]);
    await same(resumed);
  },

  async resume_of_a_continued_message() {
    const chat = new Chat();
    await chat.say("weather at leisure");
    const { toolCallId } = call(last(chat));
    await chat.addToolOutput({ tool: "get_weather", toolCallId, output: { sky: "clear" } });
    const before = chat.record.chunks.length;
    const continued = chat.sendMessage();
    await until(() => chat.record.chunks.slice(before).some((chunk) => chunk.type === "text-delta"));
    const listed = await stored(chat);
    assert.deepEqual(listed.map((message) => message.role), ["user"]);
    const reloaded = new Chat({ id: chat.id, messages: listed });
    await reloaded.resumeStream();
    await continued;
    const { chunks } = reloaded.record;
    assert.equal(chunks.filter((chunk) => chunk.type === "start").length, 1);
    assert.equal(chunks.filter((chunk) => chunk.type === "finish").length, 1);
    assert.equal(reloaded.messages.length, 2);
    assert.deepEqual(json(reloaded.messages), json(chat.messages));
    await same(reloaded);
  },
};

const all = Object.entries({ ...CASES, ...(isLatest && LATEST) });
for (const [name, run] of all.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
  try {
    await run();
  } catch (error) {
    console.error(`${version}: ${name} does not hold`);
    throw error;
  }
  console.log(`ok ${name}`);
}
