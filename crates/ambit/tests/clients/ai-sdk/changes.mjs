// Chats that are edited, repeated, stopped and resumed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Chat, Transport, ai, call, headers, held, is7, last, nodes, request, same, stored, texts, until } from "./chat.mjs";
import { json } from "./parts.mjs";

export const CASES = {
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
    await ai.validateUIMessages({ messages: list });
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

export const LATEST = {
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
