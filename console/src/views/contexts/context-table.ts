// Columns and filters of the table of contexts.

import type { Column } from "../../components/columns";
import type { FilterField } from "../../components/filter-fields";
import { ago, number, timeWithZone } from "../../format";
import { contextsTexts as t } from "../../texts/contexts";
import type { ContextRow } from "./context-types";

const labelText = (row: ContextRow) =>
  Object.entries(row.labels)
    .map(([name, value]) => `${name}:${value}`)
    .join(" ");

export const COLUMNS: readonly Column<ContextRow>[] = [
  { name: "key", title: t.key, width: "minmax(180px, 3fr)", text: (row) => row.key },
  { name: "agent_name", title: t.agent, width: "minmax(90px, 1fr)", text: (row) => row.agent_name },
  { name: "user_id", title: t.user, width: "minmax(80px, 1fr)", text: (row) => row.user_id ?? "–" },
  { name: "chat_name", title: t.chat, width: "minmax(80px, 1fr)", text: (row) => row.chat_name ?? "–" },
  { name: "group", title: t.group, width: "minmax(70px, 1fr)", text: (row) => row.group ?? "–" },
  { name: "scope", title: t.scope, width: "100px", text: (row) => row.scope },
  { name: "items", title: t.items, width: "70px", text: (row) => number(row.items), isNumber: true },
  { name: "state", title: t.state, width: "80px", text: (row) => row.state },
  {
    name: "last_activity_at",
    title: t.activity,
    width: "130px",
    text: (row) => ago(row.last_activity_at),
    hint: (row) => timeWithZone(row.last_activity_at),
  },
  { name: "labels", title: t.labels, width: "minmax(80px, 1fr)", text: labelText },
];

export const FIELDS: readonly FilterField[] = [
  { name: "agent", label: t.agent },
  { name: "user", label: t.user },
  { name: "chat", label: t.chat },
  { name: "group", label: t.group },
  { name: "scope", label: t.scope },
  { name: "active_before", label: t.activeBefore, type: "date" },
];
