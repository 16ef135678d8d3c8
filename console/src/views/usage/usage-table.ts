// Columns of the table of usage, and the measures.

import type { Column } from "../../components/columns";
import { cost, number } from "../../format";
import { say, type Text } from "../../texts";
import { usageTexts as t } from "../../texts/usage";
import type { Bucket, Field } from "./usage-query";
import type { Measure, UsageRow, UsageSums } from "./usage-series";

type Count = Exclude<keyof UsageSums, "cost">;

/** `head` is the short name above a column. */
export const COUNTS: readonly { name: Count; title: Text; head: Text }[] = [
  { name: "records", title: t.calls, head: t.calls },
  { name: "total_tokens", title: t.total, head: t.total },
  { name: "prompt_tokens", title: t.prompt, head: t.promptHead },
  { name: "completion_tokens", title: t.completion, head: t.completionHead },
  { name: "cached_tokens", title: t.cached, head: t.cachedHead },
  { name: "reasoning_tokens", title: t.reasoning, head: t.reasoningHead },
];

export function costText(sums: UsageSums): string {
  return Object.keys(sums.cost).length === 0 ? "–" : cost(sums.cost);
}

export function columnsOf(field: Field, isSplit: boolean, bucket: Bucket): Column<UsageRow>[] {
  const counts = COUNTS.map(({ name, head }) => ({
    name,
    title: head,
    width: "minmax(110px, 1fr)",
    text: (row: UsageRow) => number(row[name]),
    isNumber: true,
  }));
  const split = { name: "value", title: t[field], width: "minmax(120px, 1fr)", text: (row: UsageRow) => row.value ?? "" };
  return [
    { name: "bucket", title: isSplit ? t[bucket] : t.day, width: "130px", text: (row) => row.bucket },
    ...(isSplit ? [split] : []),
    ...counts,
    { name: "cost", title: t.cost, width: "minmax(110px, 1fr)", text: costText, isNumber: true },
  ];
}

/** What can be drawn: counts, and the costs of each currency. */
export function measuresOf(sums: UsageSums | null): { value: Measure; label: string }[] {
  const currencies = Object.keys(sums?.cost ?? {});
  return [
    ...COUNTS.map(({ name, title }) => ({ value: name as Measure, label: say(title) })),
    ...currencies.map((currency) => ({ value: `cost:${currency}` as Measure, label: say(t.costIn, { currency }) })),
  ];
}

export function amountText(value: number, measure: Measure): string {
  return measure.startsWith("cost:") ? cost({ [measure.slice("cost:".length)]: Math.round(value * 1e6) }) : number(value);
}
