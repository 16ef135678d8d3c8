import { expect, test } from "vitest";
import { SseParser } from "../src/sse-parser";

const STREAM = 'id: 1\ndata: {"a":"ü"}\n\n: ping\n\nid: 2\r\nevent: missed\r\ndata: x\r\ndata: y\r\n\r\n';
const EVENTS = [
  { id: "1", name: "message", data: '{"a":"ü"}' },
  { id: "2", name: "missed", data: "x\ny" },
];

test("pieces of any size give the same events", () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let size = 1; size <= bytes.length; size += 1) {
    const parser = new SseParser();
    const events = [];
    for (let at = 0; at < bytes.length; at += size) events.push(...parser.push(bytes.slice(at, at + size)));
    expect(events).toEqual(EVENTS);
  }
});

test("an event that is not ended is not given", () => {
  expect(new SseParser().push(new TextEncoder().encode("data: half\n"))).toEqual([]);
});
