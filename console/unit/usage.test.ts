import { expect, test } from "vitest";
import { bucketName, bucketNames, bucketOf, periodOf } from "../src/views/usage/usage-query";
import { sorted } from "../src/views/usage/usage-order";
import { seriesOf, type UsageRow } from "../src/views/usage/usage-series";

const period = { date_from: "2026-02-27", date_to: "2026-03-01", time_zone: "UTC" };
const row = (bucket: string, value: string | null, total_tokens: number, cost = {}): UsageRow => ({
  bucket, value, total_tokens, records: 1, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0, reasoning_tokens: 0, cost,
});

test("thirty days end today, in the zone that is asked for", () => {
  const now = Date.parse("2026-03-01T23:30:00Z");
  expect(periodOf({ time_zone: "Asia/Tokyo" }, now, "UTC")).toEqual({ date_from: "2026-02-01", date_to: "2026-03-02", time_zone: "Asia/Tokyo" });
  expect(periodOf({ time_zone: "Nowhere/Else" }, now, "UTC").date_to).toBe("2026-03-01");
  expect(periodOf({ date_from: "2026-01-05", date_to: "2026-01-06", time_zone: "UTC" }, now, "UTC")).toMatchObject({ date_from: "2026-01-05" });
});

test("up to two days are drawn by the hour, and days over the end of a month by their names", () => {
  expect(bucketOf(period)).toBe("day");
  expect(bucketNames(period, "day")).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  const two = { ...period, date_from: "2026-02-28" };
  expect(bucketOf(two)).toBe("hour");
  expect(bucketNames(two, "hour")).toHaveLength(48);
  expect(bucketName("2026-02-28T07:00:00Z")).toBe("2026-02-28 07");
});

test("the ten largest have a series of their own, the others one together", () => {
  const rows = Array.from({ length: 12 }, (_, at) => row("2026-02-28", `m${at}`, at + 1, { EUR: 1_000_000 * at }));
  const { buckets, series } = seriesOf({ rows, isSplit: true }, period, "total_tokens");
  expect(buckets).toHaveLength(3);
  expect(series.map(({ name }) => name)).toEqual(["m11", "m10", "m9", "m8", "m7", "m6", "m5", "m4", "m3", "m2", null]);
  expect(series.at(-1)).toMatchObject({ sum: 3, amounts: [0, 3, 0] });
  expect(seriesOf({ rows, isSplit: true }, period, "cost:EUR").series[0]).toMatchObject({ name: "m11", sum: 11 });
});

test("rows are put in order by numbers as numbers, and by texts as texts", () => {
  const rows = [row("2026-02-27", "b", 9), row("2026-02-28", "a", 10)];
  const order = (column: string, isDescending: boolean) => sorted(rows, { column, isDescending }).map(({ value }) => value);
  expect(order("total_tokens", true)).toEqual(["a", "b"]);
  expect(order("total_tokens", false)).toEqual(["b", "a"]);
  expect(order("value", false)).toEqual(["a", "b"]);
  expect(order("bucket", false)).toEqual(["b", "a"]);
});
