import { expect, test } from "vitest";
import { bodyWithValue, jsonFault } from "../src/views/memory/exact-json";
import { lineDiff } from "../src/line-diff";
import { isAddressable, isUnconstrained, keyOperation, listPath, parsePlace } from "../src/views/memory/memory-place";
import type { Session } from "../src/wire";

test("an id names a space, and perhaps whose it is", () => {
  expect(parsePlace("user", undefined)).toEqual({ space: "user", owner: null, context: null });
  expect(parsePlace("team/a/b", "row")).toEqual({ space: "team", owner: "a/b", context: null });
  expect(parsePlace("chat", "row")).toEqual({ space: "chat", owner: null, context: "row" });
  expect(parsePlace("context", undefined)).toBeNull();
});

test("own, owned and picked memories have their own routes", () => {
  const path = (id: string, context?: string) => listPath(parsePlace(id, context)!);
  expect(path("user")).toBe("/memory/user");
  expect(path("team/a/b")).toBe("/memory/team/a%2Fb");
  expect(path("chat", "row")).toBe("/memory/chat/-");
  expect(path("chat")).toBeNull();
  expect(keyOperation("PUT", parsePlace("user", undefined)!)).toBe("PUT /memory/:space/keys/:key");
  expect(keyOperation("DELETE", parsePlace("chat", "row")!)).toBe("DELETE /memory/:space/:owner/keys/:key");
  expect([".", "..", "", "a.b"].map(isAddressable)).toEqual([false, false, false, true]);
});

test("constraints that say nothing are none", () => {
  const of = (constraints: Record<string, unknown> | null) => isUnconstrained({ constraints } as Session);
  expect([of(null), of({}), of({ owner_only: false, extra: {} })]).toEqual([true, true, true]);
  expect([of({ team_only: true }), of({ extra: { region: "eu" } })]).toEqual([false, false]);
});

test("a value is sent as it is written", async () => {
  const body = bodyWithValue("[9007199254740993]", { expect: null, ttl: undefined });
  expect(await body.text()).toBe('{"value":[9007199254740993],"expect":null}');
  expect(jsonFault("{")).not.toBeNull();
  expect(jsonFault('{"a": 1}')).toBeNull();
});

test("values differ by lines", () => {
  expect(lineDiff("1\n2", "1\n3")).toEqual([
    { change: "same", text: "1" },
    { change: "gone", text: "2" },
    { change: "added", text: "3" },
  ]);
  expect(lineDiff("", "1")).toEqual([{ change: "added", text: "1" }]);
});
