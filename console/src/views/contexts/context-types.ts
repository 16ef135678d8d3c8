// What the routes of contexts answer, and the actions on them.

import { api } from "../../api";
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

export interface LeftContext {
  key: string;
  reason: string;
}

export interface ContextReport {
  done: string[];
  unchanged: string[];
  skipped: LeftContext[];
  failed: LeftContext[];
}

export type ContextAction = "clear" | "remove";

export async function actOnOne(action: ContextAction, id: string): Promise<void> {
  const path = `/contexts/${encodeURIComponent(id)}`;
  if (action === "clear") await api.post(`${path}/clear`);
  else await api.delete(path);
}

/** Acts on all that match; without any filter that is everything, which has to be said. */
export function actOnAll(action: ContextAction, filters: Filters, isDry: boolean): Promise<ContextReport> {
  const isAll = Object.keys(filters).length === 0;
  return api.post<ContextReport>(`/contexts/${action}`, { ...filters, ...(isAll && { all: true }), dry_run: isDry });
}
