// What the routes of contexts answer, and the actions on them.

import { api } from "../../api";
import { isGranted } from "../../session.svelte";
import type { Filters } from "../../url";

export interface ContextRow {
  id: string;
  agent_name: string;
  chat_name: string | null;
  user_id: string | null;
  group: string | null;
  scope: string;
  key: string;
  state: string;
  items: number;
  created_at: number;
  last_activity_at: number;
  agents: string[];
  labels: Record<string, string>;
  /** These are for callers without constraints. */
  placement?: string[];
  team?: string;
  created_by?: string;
  generation?: number;
  touches?: ContextTouch[];
}

export interface ContextTouch {
  agent: string;
  key: string;
  first_at: number;
  last_at: number;
}

export interface ContextItem {
  position: number;
  id: string;
  stored_at: number;
  superseded_by: string | null;
  item: Record<string, unknown>;
}

export interface ContextItemPage {
  items: ContextItem[];
  next: number | null;
}

/** A row as it was before an action; of an id without a row nothing else is known. */
export interface ReportedContext {
  id: string;
  key: string | null;
  agent_name: string | null;
  user_id: string | null;
  chat_name: string | null;
  items: number;
  agents: string[];
  reason: string | null;
}

export interface ContextReport {
  done: ReportedContext[];
  unchanged: ReportedContext[];
  skipped: ReportedContext[];
  failed: ReportedContext[];
}

export type ContextAction = "clear" | "remove";

export async function actOnOne(action: ContextAction, id: string): Promise<void> {
  const path = `/contexts/${encodeURIComponent(id)}`;
  if (action === "clear") await api.post(`${path}/clear`);
  else await api.delete(path);
}

/** Acts on all that match; without any condition that is everything, which has to be said. */
export function actOnAll(action: ContextAction, filters: Filters, isDry: boolean): Promise<ContextReport> {
  const { order: _, ...conditions } = filters;
  const isAll = Object.keys(conditions).length === 0;
  return api.post<ContextReport>(`/contexts/${action}`, { ...conditions, ...(isAll && { all: true }), rows: true, dry_run: isDry });
}

/** Acts on these rows alone. */
export function actOnMarked(action: ContextAction, ids: readonly string[], isDry: boolean): Promise<ContextReport> {
  return api.post<ContextReport>(`/contexts/${action}`, { ids, rows: true, dry_run: isDry });
}

/** What a field has, to choose from: values that begin so, those of the most rows first. */
export function suggestions(field: "agent" | "user" | "group" | "scope") {
  return async (prefix: string): Promise<string[]> => {
    if (!isGranted("GET /contexts/values")) return [];
    const { items } = await api.get<{ items: { value: string }[] }>("/contexts/values", { query: { field, prefix } });
    return items.map(({ value }) => value);
  };
}
