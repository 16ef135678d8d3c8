import { expect, test } from "vitest";
import { reconnectDelay, retryAfter } from "../src/retry";

test("the wait doubles up to half a minute", () => {
  expect([0, 1, 2, 3, 4, 5, 50].map(reconnectDelay)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

test("Retry-After is seconds or a date", () => {
  const now = Date.parse("2026-11-28T07:00:00Z");
  expect(retryAfter("7", now)).toBe(7000);
  expect(retryAfter("Sat, 28 Nov 2026 07:00:03 GMT", now)).toBe(3000);
  expect(retryAfter(null, now)).toBe(1000);
  expect(retryAfter("soon", now)).toBe(1000);
});
