// Columns and filters of the table of contexts.

import type { Column, PlainColumn } from "../../components/columns";
import type { FilterField } from "../../components/filter-fields";
import { ago, number, time, timeWithZone } from "../../format";
import { contextsTexts as t } from "../../texts/contexts";
import { suggestions, type ContextRow, type ContextTouch } from "./context-types";

const labelText = (row: ContextRow) =>
  Object.entries(row.labels)
    .map(([name, value]) => `${name}:${value}`)
    .join(" ");

export const COLUMNS: readonly Column<ContextRow>[] = [
  { name: "key", title: t.key, width: "minmax(180px, 6fr)", text: (row) => row.key },
  { name: "agent_name", title: t.agent, width: "minmax(110px, 1fr)", text: (row) => row.agent_name },
  { name: "user_id", title: t.user, width: "minmax(80px, 1fr)", text: (row) => row.user_id ?? "–" },
  { name: "chat_name", title: t.chat, width: "minmax(90px, 1fr)", text: (row) => row.chat_name ?? "–" },
  { name: "group", title: t.group, width: "minmax(70px, 1fr)", text: (row) => row.group ?? "–" },
  { name: "scope", title: t.scope, width: "112px", text: (row) => row.scope },
  { name: "items", title: t.items, width: "70px", text: (row) => number(row.items), isNumber: true },
  { name: "state", title: t.state, width: "80px", text: (row) => row.state },
  {
    name: "last_activity_at",
    title: t.activity,
    width: "140px",
    text: (row) => ago(row.last_activity_at),
    hint: (row) => timeWithZone(row.last_activity_at),
  },
  { name: "labels", title: t.labels, width: "minmax(80px, 1fr)", text: labelText },
];

/** The work of each agent on a context. */
export const TOUCH_COLUMNS: readonly PlainColumn<ContextTouch>[] = [
  { name: "agent", title: t.agent, text: (touch) => touch.agent },
  { name: "key", title: t.key, text: (touch) => touch.key },
  { name: "first_at", title: t.firstTouch, text: (touch) => time(touch.first_at), hint: (touch) => timeWithZone(touch.first_at) },
  { name: "last_at", title: t.lastTouch, text: (touch) => time(touch.last_at), hint: (touch) => timeWithZone(touch.last_at) },
];

/** What leaves rows out. */
export const CONDITIONS: readonly FilterField[] = [
  { name: "agent", label: t.agent, suggest: suggestions("agent") },
  { name: "user", label: t.user, suggest: suggestions("user") },
  { name: "chat", label: t.chat },
  { name: "group", label: t.group, suggest: suggestions("group") },
  { name: "scope", label: t.scope, suggest: suggestions("scope") },
  { name: "label", label: t.label },
  { name: "state", label: t.state, options: [{ value: "live", label: t.live }, { value: "cleared", label: t.cleared }] },
  { name: "active_after", label: t.activeAfter, type: "date" },
  { name: "active_before", label: t.activeBefore, type: "date" },
  { name: "created_after", label: t.createdAfter, type: "date" },
  { name: "created_before", label: t.createdBefore, type: "date" },
];

export const FIELDS: readonly FilterField[] = [
  ...CONDITIONS,
  { name: "order", label: t.order, unset: t.oldest, options: [{ value: "newest", label: t.newest }, { value: "recent", label: t.recent }] },
];
