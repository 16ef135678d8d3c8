import { beforeAll, expect, test, vi } from "vitest";
import type { ContextItem } from "../src/views/contexts/context-types";

let stored: typeof import("../src/views/chats/stored-message");

beforeAll(async () => {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => {} });
  vi.stubGlobal("navigator", { language: "en", languages: ["en"] });
  vi.stubGlobal("document", { querySelector: () => null });
  stored = await import("../src/views/chats/stored-message");
});

// As turns leave them.
const ITEMS: ContextItem[] = [
  { role: "user", turn_id: "r1", message_id: "U1", type: "user_input" },
  { role: "assistant", turn_id: "r1", tool_calls: [{ id: "call_1" }], shown: [{ message_id: "M1" }, { message_id: "M2", call: "call_1" }] },
  { role: "tool", turn_id: "r1", tool_result: { call_id: "call_1" } },
  { role: "assistant", turn_id: "r1", shown: [{ message_id: "M3", type: "text" }] },
  { role: "assistant", turn_id: "r2", tool_calls: [{ id: "a" }, { id: "call_1" }], shown: [{ message_id: "M1", call: 0 }, { message_id: "M2", call: 1 }] },
  { role: "tool", turn_id: "r2", tool_result: { call_id: "call_1" } },
  { role: "user", parts: [] },
].map((item, at) => ({ position: at + 1, id: `i${at}`, stored_at: 0, superseded_by: null, item }));

function shown(id: string): string | null {
  const find = stored.shownIdFinder(id);
  return ITEMS.toReversed().map(find).find((found) => found !== null) ?? null;
}

test("an item is found under the id of its turn, a result as part of its call", () => {
  expect(ITEMS.map(({ id }) => shown(id))).toEqual(["r1.U1", "r1.M1", "r1.M2", "r1.M3", "r2.M1", "r2.M2", "i6"]);
});

test("an item that is not there is not found", () => {
  expect(shown("i9")).toBeNull();
});

test("an id of a turn is taken as it is", async () => {
  expect(await stored.shownMessageId("c", "r1.M2")).toBe("r1.M2");
});
