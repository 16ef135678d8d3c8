// Columns of the table of keys.

import type { Column } from "../../components/columns";
import { ago, bytes, timeWithZone } from "../../format";
import { say } from "../../texts";
import { memoryTexts as t } from "../../texts/memory";
import type { MemoryKey } from "./memory-values";

export const COLUMNS: readonly Column<MemoryKey>[] = [
  { name: "key", title: t.key, width: "minmax(160px, 3fr)", text: (row) => row.key },
  { name: "type", title: t.type, width: "80px", text: (row) => row.type },
  { name: "bytes", title: t.bytes, width: "90px", text: (row) => bytes(row.bytes), isNumber: true },
  {
    name: "expires_at",
    title: t.timeLeft,
    width: "130px",
    text: (row) => timeLeft(row.expires_at),
    hint: (row) => (row.expires_at === null ? "" : timeWithZone(row.expires_at)),
  },
  { name: "version", title: t.version, width: "90px", text: (row) => String(row.version) },
];

export function timeLeft(expires_at: number | null): string {
  return expires_at === null ? say(t.forever) : ago(expires_at);
}
