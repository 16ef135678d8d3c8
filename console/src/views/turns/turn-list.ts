// The list of turns: the newest first, those that run before all others.

import { api } from "../../api";
import type { Page } from "../../wire";
import type { Filters } from "../../url";
import type { TurnRow } from "./turn-types";

const PATH = "/chat/requests";

export type ReadTurns = (page: { cursor?: string; limit: number }, signal: AbortSignal) => Promise<Page<TurnRow>>;

/** Reads pages of turns with these filters, and with the first page those that run, wherever they stand in the list. */
export function turnPages(filters: () => Filters): ReadTurns {
  let running = new Set<string>();
  return async (page, signal) => {
    const chosen = filters();
    const read = (more: Filters = {}) => api.get<Page<TurnRow>>(PATH, { query: { ...chosen, ...more, ...page }, signal });
    if (page.cursor !== undefined || chosen.status) {
      const next = await read();
      // A list of one state has no second list whose rows would come again.
      return chosen.status ? next : { ...next, items: next.items.filter((row) => !running.has(row.request_id)) };
    }
    const [first, live] = await Promise.all([read(), read({ status: "running" })]);
    running = new Set(live.items.map((row) => row.request_id));
    return { ...first, items: [...live.items, ...first.items.filter((row) => !running.has(row.request_id))] };
  };
}
