import { expect, test } from "vitest";
import { changeProps, Fold, splitPath } from "../src/fold";
import type { Frame } from "../src/wire";

const delta = (frame: Partial<Frame>): Frame => ({ type: "text", props: {}, message_id: "M1", delta: true, ...frame });

test("each action does what the wire contract says", () => {
  expect(changeProps({ content: "Hel" }, delta({ props: { content: "lo" } }))).toEqual({ content: "Hello" });
  expect(
    changeProps({ rows: [1] }, delta({ props: { rows: [2] }, delta_action: "append", delta_path: "rows" })),
  ).toEqual({ rows: [1, 2] });
  expect(
    changeProps({ meta: { a: 1, list: [1] } }, delta({ props: { meta: { b: null, list: [2] } }, delta_action: "merge" })),
  ).toEqual({ meta: { a: 1, b: null, list: [2] } });
  expect(
    changeProps({}, delta({ props: { meta: { cached: true } }, delta_action: "set", delta_path: "meta.cached" })),
  ).toEqual({ meta: { cached: true } });
  expect(
    changeProps({ items: [{ title: "a" }] }, delta({ props: { items: { 0: { title: "x" } } }, delta_action: "set", delta_path: "items.0.title" })),
  ).toEqual({ items: [{ title: "x" }] });
  expect(
    changeProps({ items: ["a"] }, delta({ props: { items: { 1: "b" } }, delta_action: "set", delta_path: "items.1" })),
  ).toEqual({ items: ["a", "b"] });
  expect(changeProps({ a: 1 }, delta({ props: { content: "new" }, delta_action: "replace" }))).toEqual({ content: "new" });
});

test("a backslash makes a dot part of a segment", () => {
  expect(splitPath("a\\.b.c")).toEqual(["a.b", "c"]);
});

test("a path cannot reach the prototype of objects", () => {
  const props = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
  changeProps({}, delta({ props, delta_action: "set", delta_path: "__proto__.polluted" }));
  changeProps({}, delta({ props, delta_action: "merge" }));
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test("a stream becomes its messages", () => {
  const event = (name: string, data: object): Frame => ({ type: "event", props: { event: name, data } });
  const fold = new Fold();
  const frames: Frame[] = [
    event("stream_start", { request_id: "R" }),
    event("message_start", { message_id: "M1", type: "loading", block_id: "B1" }),
    { type: "loading", props: { message: "…" }, message_id: "M1", chunk_id: "C1" },
    delta({ props: { content: "Hi" }, delta_action: "replace", type_change: true, chunk_id: "C2" }),
    delta({ props: { content: "!" }, chunk_id: "C3" }),
    event("message_end", { message_id: "M1", status: "completed" }),
    event("message_start", { message_id: "M1", type: "text", amend: true }),
    delta({ props: { score: 1 }, delta_action: "merge", chunk_id: "C4" }),
    event("message_end", { message_id: "M1", status: "completed" }),
    event("stream_end", { status: "completed" }),
  ];
  frames.forEach((frame) => fold.apply(frame));
  expect(fold.state.messages).toEqual([
    { message_id: "M1", type: "text", props: { content: "Hi!", score: 1 }, block_id: "B1", status: "completed", amended: true },
  ]);
  expect(fold.state.start).toEqual({ request_id: "R" });
  expect(fold.state.end).toEqual({ status: "completed" });
});
