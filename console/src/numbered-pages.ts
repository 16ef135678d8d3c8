// Lists that the server counts in pages, as lists with a cursor: the cursor is the number of the page.

import { api, type Query } from "./api";
import type { Page } from "./wire";

interface NumberedPage<T> {
  data: T[];
  /** The number of the page that follows, or -1. */
  next: number;
}

export async function readNumberedPage<T>(
  path: string,
  query: Query,
  page: { cursor?: string; limit: number },
  signal: AbortSignal,
): Promise<Page<T>> {
  const numbered = { ...query, page: page.cursor ?? null, pagesize: page.limit };
  const { data, next } = await api.get<NumberedPage<T>>(path, { query: numbered, signal });
  return { items: data, next: next > 0 ? String(next) : null };
}
