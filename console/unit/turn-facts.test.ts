import { expect, test } from "vitest";
import { TurnFacts } from "../src/views/chats/turn-facts";

test("a tool has run from the end of its call to its result", () => {
  const facts = new TurnFacts();
  facts.note("message_end", { message_id: "M1", type: "tool_call", timestamp: 1000, duration_ms: 5 });
  facts.note("message_start", { message_id: "M1", type: "tool_call", timestamp: 1340, amend: true });
  expect(facts.durations.get("M1")).toBe(340);
});

test("a thought took as long as its message", () => {
  const facts = new TurnFacts();
  facts.note("message_end", { message_id: "M1", type: "thinking", timestamp: 1000, duration_ms: 4000 });
  facts.note("message_end", { message_id: "M2", type: "text", timestamp: 1000, duration_ms: 4000 });
  expect([...facts.durations]).toEqual([["M1", 4000]]);
});

test("labels and ends of threads are kept", () => {
  const facts = new TurnFacts();
  facts.note("thread_start", { thread_id: "T1", label: "lawyer" });
  facts.note("block_start", { block_id: "B1", label: "" });
  facts.note("thread_end", { thread_id: "T1" });
  expect([...facts.labels]).toEqual([["T1", "lawyer"]]);
  expect([...facts.endedThreads]).toEqual(["T1"]);
});

test("why a turn failed is kept, and of one that did not there is nothing", () => {
  const facts = new TurnFacts();
  facts.note("stream_end", { status: "error", error: "I cannot", code: "provider_error" });
  expect(facts.failure).toEqual({ message: "I cannot", code: "provider_error" });
  const completed = new TurnFacts();
  completed.note("stream_end", { status: "completed" });
  expect(completed.failure).toBeNull();
});
