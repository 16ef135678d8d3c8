// What an answer is made of: texts, thinking, calls of tools, data.

import assert from "node:assert/strict";
import { Chat, ai, call, last, same, stored, texts, until } from "./chat.mjs";

export const CASES = {
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
};
