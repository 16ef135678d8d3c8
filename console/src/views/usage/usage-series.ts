// Sums of usage, and the series that are drawn of them.

import { bucketNames, bucketOf, type UsagePeriod } from "./usage-query";

export interface UsageSums {
  records: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  reasoning_tokens: number;
  /** Millionths by currency. */
  cost: Record<string, number>;
}

export interface UsageRow extends UsageSums {
  bucket: string;
  /** Of the field that is split by; null where that gives too many sums. */
  value: string | null;
}

export interface UsageRows {
  rows: UsageRow[];
  /** Whether they are split by a field; the server refuses where that gives too many sums. */
  isSplit: boolean;
}

export type Measure = Exclude<keyof UsageSums, "cost"> | `cost:${string}`;

export function amount(sums: UsageSums, measure: Measure): number {
  if (measure.startsWith("cost:")) return (sums.cost[measure.slice("cost:".length)] ?? 0) / 1e6;
  return sums[measure as Exclude<keyof UsageSums, "cost">];
}

export interface Series {
  /** Null: all that is not among the largest. */
  name: string | null;
  sum: number;
  /** One number for each bucket. */
  amounts: number[];
}

const LARGEST = 10;

/** The ten largest values, the largest first, and the others as one. */
export function seriesOf({ rows, isSplit }: UsageRows, period: UsagePeriod, measure: Measure): { buckets: string[]; series: Series[] } {
  const days = bucketNames(period, isSplit ? bucketOf(period) : "day");
  const buckets = [...new Set([...days, ...rows.map((row) => row.bucket)])].sort();
  const places = new Map(buckets.map((bucket, at) => [bucket, at]));
  const byName = new Map<string, Series>();
  for (const row of rows) {
    const name = row.value ?? "";
    const series = byName.get(name) ?? { name, sum: 0, amounts: buckets.map(() => 0) };
    const at = places.get(row.bucket) ?? 0;
    series.amounts[at] = (series.amounts[at] ?? 0) + amount(row, measure);
    series.sum += amount(row, measure);
    byName.set(name, series);
  }
  const all = [...byName.values()].sort((one, other) => other.sum - one.sum);
  const rest = all.slice(LARGEST);
  if (rest.length === 0) return { buckets, series: all };
  const others = { name: null, sum: 0, amounts: buckets.map((_, at) => rest.reduce((sum, series) => sum + (series.amounts[at] ?? 0), 0)) };
  others.sum = rest.reduce((sum, series) => sum + series.sum, 0);
  return { buckets, series: [...all.slice(0, LARGEST), others] };
}
