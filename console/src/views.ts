// The views, in the order of the side bar. A view is shown if its operation is granted, and loaded when it is opened.

import type { Component } from "svelte";
import { viewTexts as t } from "./texts/views";
import type { Text } from "./texts";

export interface View {
  /** Its name in the URL. */
  name: string;
  /** `g` and this letter open it. */
  letter: string;
  /** The operation that grants it; null: everybody sees it. */
  operation: string | null;
  title: Text;
  /** What is said where it has nothing to show. */
  empty: Text;
  /** The filters of its list, and those of an item. */
  filters: readonly string[];
  itemFilters: readonly string[];
  load: () => Promise<{ default: Component<ViewProps> }>;
}

/** What every view gets; its filters are those that it knows. */
export interface ViewProps {
  id: string | null;
  filters: Readonly<Record<string, string>>;
}

const words = (text: string) => text.split(" ").filter((word) => word !== "");

export const VIEWS: readonly View[] = [
  {
    name: "chats", letter: "c", operation: "GET /chat/sessions", title: t.chats, empty: t.chatsEmpty,
    filters: words("assistant_id status running keywords q user_id from to order_by"),
    itemFilters: words("at assistant_id chat"),
    load: () => import("./views/Chats.svelte"),
  },
  {
    name: "turns", letter: "t", operation: "GET /chat/requests/:request_id", title: t.turns, empty: t.turnsEmpty,
    filters: words("chat_id context assistant_id user_id status from to"),
    itemFilters: words("tab node call diff type node_status q fold after"),
    load: () => import("./views/Turns.svelte"),
  },
  {
    name: "contexts", letter: "x", operation: "GET /contexts", title: t.contexts, empty: t.contextsEmpty,
    filters: words("agent user group chat scope label state active_before active_after created_before created_after order"),
    itemFilters: words("tab"),
    load: () => import("./views/Contexts.svelte"),
  },
  {
    name: "memory", letter: "m", operation: "GET /memory/:space", title: t.memory, empty: t.memoryEmpty,
    filters: [], itemFilters: words("pattern context key"),
    load: () => import("./views/Memory.svelte"),
  },
  {
    name: "usage", letter: "u", operation: "GET /usage", title: t.usage, empty: t.usageEmpty,
    filters: words("date_from date_to time_zone group_by agent user chat model provider measure"), itemFilters: [],
    load: () => import("./views/Usage.svelte"),
  },
  {
    name: "agents", letter: "a", operation: "GET /agent/assistants", title: t.agents, empty: t.agentsEmpty,
    filters: words("tags keywords"), itemFilters: words("tab mode preset locale file"),
    load: () => import("./views/Agents.svelte"),
  },
  {
    name: "data", letter: "d", operation: "GET /data/models", title: t.data, empty: t.dataEmpty,
    filters: [], itemFilters: words("where order page"),
    load: () => import("./views/Data.svelte"),
  },
  {
    name: "knowledge", letter: "k", operation: "GET /kb/collections", title: t.knowledge, empty: t.knowledgeEmpty,
    filters: [], itemFilters: words("tab q document keywords status limit threshold metadata"),
    load: () => import("./views/Knowledge.svelte"),
  },
  {
    name: "access", letter: "s", operation: null, title: t.access, empty: t.accessEmpty,
    filters: words("tab who what"), itemFilters: [],
    load: () => import("./views/Access.svelte"),
  },
  {
    name: "system", letter: "y", operation: "GET /system", title: t.system, empty: t.systemEmpty,
    filters: words("tab type"), itemFilters: [],
    load: () => import("./views/System.svelte"),
  },
];

export function findView(name: string): View | undefined {
  return VIEWS.find((view) => view.name === name);
}
