// The order of the rows of the table of usage.

import type { Order } from "../../components/columns";
import type { UsageRow, UsageSums } from "./usage-series";

export function sorted(rows: readonly UsageRow[], { column, isDescending }: Order): UsageRow[] {
  const sign = isDescending ? -1 : 1;
  const key = (row: UsageRow): string | number => {
    if (column === "cost") return Object.values(row.cost).reduce((sum, value) => sum + value, 0);
    return (row[column as Exclude<keyof UsageSums, "cost"> | "bucket" | "value"] as string | number | null | undefined) ?? "";
  };
  return [...rows].sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}
