// Columns and filters of the list of turns.

import type { Column } from "../../components/columns";
import type { FilterField } from "../../components/filter-fields";
import { cost, duration, number, time, timeWithZone } from "../../format";
import { say } from "../../texts";
import { STATUS_TEXTS, turnsTexts as t } from "../../texts/turns";
import type { TurnRow } from "./turn-types";

/** A state in the language of the page. */
export function statusText(status: string): string {
  return status in STATUS_TEXTS ? say(STATUS_TEXTS[status as keyof typeof STATUS_TEXTS]) : status;
}

const orDash = (value: number | null | undefined, format: (value: number) => string = number) => (value == null ? "–" : format(value));

export function costText(row: { cost?: Record<string, number> | null }): string {
  return row.cost && Object.keys(row.cost).length > 0 ? cost(row.cost) : "–";
}

export const COLUMNS: readonly Column<TurnRow>[] = [
  {
    name: "started_at", title: t.began, width: "minmax(180px, 1.5fr)",
    text: (row) => time(row.started_at),
    hint: (row) => timeWithZone(row.started_at),
  },
  { name: "assistant_id", title: t.agent, width: "minmax(100px, 1.5fr)", text: (row) => row.assistant_id },
  { name: "chat_id", title: t.chat, width: "minmax(100px, 1.5fr)", text: (row) => row.chat_id },
  { name: "user_id", title: t.user, width: "minmax(80px, 1fr)", text: (row) => row.user_id ?? "–" },
  {
    name: "status", title: t.status, width: "100px",
    text: (row) => statusText(row.status),
    hint: (row) => row.error?.message ?? statusText(row.status),
  },
  { name: "duration_ms", title: t.duration, width: "90px", text: (row) => orDash(row.duration_ms, duration), isNumber: true },
  { name: "calls", title: t.calls, width: "70px", text: (row) => orDash(row.calls), isNumber: true },
  { name: "tools", title: t.tools, width: "70px", text: (row) => orDash(row.tools), isNumber: true },
  { name: "usage", title: t.tokens, width: "90px", text: (row) => orDash(row.usage?.total_tokens), isNumber: true },
  { name: "cost", title: t.cost, width: "110px", text: costText, isNumber: true },
];

export const FIELDS: readonly FilterField[] = [
  { name: "assistant_id", label: t.agent },
  { name: "chat_id", label: t.chat },
  { name: "context", label: t.context },
  { name: "user_id", label: t.user },
  {
    name: "status", label: t.status,
    options: (["running", "completed", "error", "cancelled"] as const).map((value) => ({ value, label: STATUS_TEXTS[value] })),
  },
  { name: "from", label: t.from, type: "date" },
  { name: "to", label: t.to, type: "date" },
];
