import { expect, test } from "vitest";
import type { ChatMessage } from "../src/views/chats/chat-types";
import { groupTurns, withRunning } from "../src/views/chats/shown-messages";

function message(id: string, more: Partial<ChatMessage> = {}): ChatMessage {
  const [request_id = "", message_id = ""] = id.split(".");
  return {
    id, request_id, message_id, role: message_id.startsWith("U") ? "user" : "assistant", type: "text", props: {}, assistant_id: "a",
    sequence: 1, status: "completed", amended: false, created_at: 1, superseded_by: null, ...more,
  };
}
const ids = (messages: readonly { id: string }[]) => messages.map((row) => row.id);

test("a stream takes the place of what is stored of its turn, and what persons wrote stays where it is", () => {
  const stored = [message("R1.U1"), message("R1.M1"), message("R2.U1"), message("R2.M1"), message("R2.U2")];
  const streamed = [message("R2.M1"), message("R2.M2"), message("R2.M3")];
  expect(ids(withRunning(stored, "R2", streamed))).toEqual(["R1.U1", "R1.M1", "R2.U1", "R2.M1", "R2.U2", "R2.M2", "R2.M3"]);
  expect(ids(withRunning([message("R2.U1")], "R2", []))).toEqual(["R2.U1"]);
});

test("what was put aside stays before the turn that took its place", () => {
  const aside = message("R1.M1", { superseded_by: "R2" });
  expect(ids(withRunning([message("R1.U1"), aside], "R2", [message("R2.M1")]))).toEqual(["R1.U1", "R1.M1", "R2.M1"]);
});

test("neighbours of a request are a turn, and keys are unique", () => {
  const turns = groupTurns([message("R1.U1"), message("R1.M1"), message("R2.U1"), message("R1.M2"), message(".a"), message(".b")]);
  expect(turns.map((turn) => ids(turn.messages))).toEqual([["R1.U1", "R1.M1"], ["R2.U1"], ["R1.M2"], [".a"], [".b"]]);
  expect(new Set(turns.map((turn) => turn.key)).size).toBe(5);
});

test("blocks and threads stand where their first message came, also when they interleave", () => {
  const [turn] = groupTurns([
    message("R.M1", { block_id: "B1" }),
    message("R.M2", { thread_id: "T1" }),
    message("R.M3", { thread_id: "T2" }),
    message("R.M4", { thread_id: "T1", block_id: "B2" }),
    message("R.M5", { block_id: "B1" }),
    message("R.M6"),
  ]);
  const shape = turn?.entries.map((entry) => (entry.is === "message" ? entry.message.message_id : `${entry.id}:${entry.entries.length}`));
  expect(shape).toEqual(["B1:2", "T1:2", "T2:1", "M6"]);
});
