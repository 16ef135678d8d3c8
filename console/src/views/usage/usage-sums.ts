// Reads sums of usage.

import { ApiError } from "../../api-error";
import { api } from "../../api";
import type { Filters } from "../../url";
import { bucketName, bucketOf, conditions, type Field, type UsagePeriod } from "./usage-query";
import type { UsageRows, UsageSums } from "./usage-series";

interface Answer {
  total?: UsageSums | null;
  items?: (UsageSums & { value?: string; values?: string[] })[];
}

/** Null: usage is not counted. */
export async function readTotals(filters: Filters, period: UsagePeriod, signal: AbortSignal): Promise<UsageSums | null> {
  const answer = await api.get<Answer>("/usage", { query: conditions(filters, period), signal });
  return answer.total ?? null;
}

export async function readRows(filters: Filters, period: UsagePeriod, field: Field, signal: AbortSignal): Promise<UsageRows> {
  const read = async (group_by: string) => {
    const query = { ...conditions(filters, period), group_by };
    const { items = [] } = await api.get<Answer>("/usage", { query, signal });
    return items.map(({ value, values, ...sums }) => {
      const [bucket = "", part = null] = values ?? [value ?? ""];
      return { ...sums, bucket: bucketName(bucket), value: part };
    });
  };
  try {
    return { rows: await read(`${bucketOf(period)},${field}`), isSplit: true };
  } catch (cause) {
    const cannotSplit = cause instanceof ApiError && cause.status === 400 && cause.message.includes("group_by");
    if (!cannotSplit) throw cause;
    return { rows: await read("day"), isSplit: false };
  }
}
