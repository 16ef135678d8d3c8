import { expect, test } from "vitest";
import { isFileAt } from "../src/views/agents/agent-types";
import { bodyItems, referencesOf, sourceLink, tokensByKind } from "../src/views/turns/block-source";
import type { ManifestBlock } from "../src/views/turns/call-types";
import { eventLine, lineValue } from "../src/views/turns/event-lines";
import { findInJson, isCut } from "../src/views/turns/json-search";
import { memoryRows } from "../src/views/turns/memory-use";

const block = (kind: string, tokens: number, source: Record<string, unknown> = {}): ManifestBlock =>
  ({ n: 0, role: "user", kind, source, bytes: 1, tokens, hash: "h" });
const places = { requestId: "r", agent: "shop", context: "c", listFilters: {}, hasFiles: true };

test("a source is a link to its file, message or step", () => {
  expect(sourceLink(block("prompt", 1, { file: "a.yml", index: 0, version: "v" }), places)).toEqual({ text: "a.yml · index 0", href: "#/agents/shop?tab=files&file=a.yml", isMessage: false });
  expect(sourceLink(block("history", 1, { message_id: "r.M1" }), places).href).toBe("#/chats/c?at=r.M1");
  expect(sourceLink(block("history", 1, { message_id: "r.M1" }), { ...places, context: null }).href).toBeNull();
  expect(sourceLink(block("delegate", 1, { node_id: "n2" }), places).href).toBe("#/turns/r?node=n2");
  const call = { call_id: "r.call-0" };
  expect(sourceLink(block("answer", 1, call), places).href).toBe("#/turns/r?tab=calls&call=r.call-0");
  expect(sourceLink(block("answer", 1, { ...call, message_id: "01m" }), places).href).toBe("#/chats/c?at=01m");
  expect(sourceLink(block("builtin", 1, { name: "title" }), places)).toEqual({ text: "name title", href: null, isMessage: false });
});

test("the file of a source is one of its agent's files, wherever in the app it is", () => {
  const place = "assistants/shop/help/prompts/friendly.yml";
  expect(isFileAt(place, "shop.help", "prompts/friendly.yml")).toBe(true);
  expect(isFileAt(place, "shop", "help/prompts/friendly.yml")).toBe(true);
  expect([isFileAt(place, "shop.help", "friendly.yml"), isFileAt(place, "help", "prompts/friendly.yml"), isFileAt("", "shop", "prompts.yml")]).toEqual([false, false, false]);
});

test("references stand beside the text of a source", () => {
  const reference = block("reference", 1, { references: ["1", "2"], query: "lamps", types: ["kb"] });
  expect([referencesOf(reference), sourceLink(reference, places).text]).toEqual([["1", "2"], "query lamps · types kb"]);
  expect(referencesOf(block("prompt", 1))).toEqual([]);
});

test("tokens are summed by kind, the largest first", () => {
  const blocks = [block("history", 2), block("prompt", 9), block("history", 3)];
  expect(tokensByKind(blocks, [{ tokens: 7 }])).toEqual([{ kind: "prompt", tokens: 9 }, { kind: "tools", tokens: 7 }, { kind: "history", tokens: 5 }]);
});

test("items of a body are marked where a block stands, or something in or above it", () => {
  const body = { model: "m", messages: ["a", "b"], "a/b": { c: 1 }, tools: [] };
  const marked = (at: string[]) => bodyItems(body, at).filter((item) => item.isMarked).map((item) => item.pointer);
  expect(bodyItems(body, []).map((item) => item.pointer)).toEqual(["/model", "/messages/0", "/messages/1", "/a~1b", "/tools"]);
  expect(marked(["/messages/1"])).toEqual(["/messages/1"]);
  expect(marked(["/messages/0/content/2", "/a~1b"])).toEqual(["/messages/0", "/a~1b"]);
  expect(marked(["/messages"])).toEqual(["/messages/0", "/messages/1"]);
});

test("texts are found in names and values, with where they stand", () => {
  const value = { query: "A lamp", nested: [{ place: "shelf" }], lampshade: 3 };
  expect(findInJson(value, "lamp", 10)).toEqual([{ path: "query", excerpt: "A lamp" }, { path: "lampshade", excerpt: "3" }]);
  expect(findInJson(value, "SHELF", 10)).toEqual([{ path: "nested.0.place", excerpt: "shelf" }]);
  expect(findInJson(value, "a", 1)).toHaveLength(1);
  expect(findInJson(value, "", 10)).toEqual([]);
});

test("what the server cut is known by its mark", () => {
  expect(isCut("abc… [cut, 6 bytes]")).toBe(true);
  expect(isCut({ cut: "{\"a… [cut, 600 bytes]" })).toBe(true);
  expect([isCut("abc"), isCut({ a: 1 }), isCut(null)]).toEqual([false, false, false]);
});

test("keys of memory are listed by hook, and counted where they have no names", () => {
  const memory = { read: [{ space: "user", key: "name", type: "string", bytes: 5 }], written: [], context: [{ space: "context", key: "seen" }] };
  expect(memoryRows([{ id: "n2", label: "Create", metadata: { memory } }])).toEqual([
    { node: "n2", hook: "Create", use: "read", used: { space: "user", key: "name", type: "string", bytes: 5 }, count: 1 },
    { node: "n2", hook: "Create", use: "context", used: { space: "context", key: "seen" }, count: 1 },
  ]);
  const facts = { memory_read: { calls: 2 }, memory_written: null };
  expect(memoryRows([{ id: "n7", label: "Next", metadata: {}, facts }])).toEqual([{ node: "n7", hook: "Next", use: "read", used: null, count: 2 }]);
});

test("events of every format have a name, a time and their number once", () => {
  const start = '{"type":"event","props":{"event":"stream_start","data":{"timestamp":5}}}';
  expect(eventLine({ id: "1", name: "message", data: start }, null, 9)).toEqual({ number: "1", name: "stream_start", at: 5, isReceived: false, text: start });
  expect(eventLine({ id: "1", name: "message", data: '{"type":"text","delta":true}' }, "1", 9)).toMatchObject({ number: null, name: "text ·", at: 9, isReceived: true });
  expect(eventLine({ id: null, name: "message_start", data: "{}" }, null, 9).name).toBe("message_start");
  expect(eventLine({ id: "2", name: "message", data: '{"object":"chat.completion.chunk"}' }, "1", 9).name).toBe("chat.completion.chunk");
  expect(eventLine({ id: "3", name: "message", data: "[DONE]" }, "2", 9).name).toBe("message");
  expect([lineValue("[DONE]"), lineValue('{"a":1}')]).toEqual(["[DONE]", { a: 1 }]);
});
