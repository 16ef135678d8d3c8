// Rows of the feed: what each event is about, and what it opens.

import type { PlainColumn } from "../../components/columns";
import type { FilterField } from "../../components/filter-fields";
import type { FeedEvent } from "../../feed";
import { time } from "../../format";
import { isGranted } from "../../session.svelte";
import { systemTexts as t } from "../../texts/system";
import { formatHash } from "../../url";

export interface EventRow {
  id: string;
  at: number;
  name: string;
  agent: string | null;
  user: string | null;
  chat: string | null;
  key: string | null;
  turn: string | null;
}

/** The events of the feed (hooks.md). */
const NAMES = [
  "ContextCreated", "StorageRegistered", "ContextRead", "ContextSaved", "ContextCleared", "ContextRemoved", "IdentityAdded", "IdentityRemoved",
  "IdentityStorageSaved", "IdentityStorageLoaded", "MessageAdded", "ChatHistoryLoaded", "ChatHistorySaved", "ChatHistoryTruncated", "UsageRecorded",
  "AgentInitialized", "AgentCleared", "EngineError", "ConversationStarted", "ConversationEnded", "AfterSend", "AfterResponse", "AfterToolExecution",
  "ToolChanged", "missed",
];

export const EVENT_FIELDS: readonly FilterField[] = [{ name: "type", label: t.type, options: NAMES.map((name) => ({ value: name, label: name })) }];

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : null);

export function eventRow({ name, data }: FeedEvent, count: number): EventRow {
  const identity = (typeof data.identity === "object" && data.identity !== null ? data.identity : {}) as Record<string, unknown>;
  return {
    // An event may be told twice after a lost connection.
    id: text(data.event_id) ?? `${name}-${count}`,
    at: typeof data.at === "number" ? data.at : Date.now(),
    name,
    agent: text(identity.agent_name) ?? text(data.agent_name),
    user: text(identity.user_id),
    chat: text(identity.chat_name),
    key: text(identity.key),
    turn: text(data.turn_id),
  };
}

/** The turn, else the contexts of the chat: an event says a chat's name, which several people may use. */
export function eventHref(row: EventRow): string | null {
  if (row.turn !== null && isGranted("GET /chat/requests")) return formatHash("turns", row.turn);
  if (row.chat === null || !isGranted("GET /contexts")) return null;
  return formatHash("contexts", null, { agent: row.agent ?? "", user: row.user ?? "", chat: row.chat });
}

export const EVENT_COLUMNS: readonly PlainColumn<EventRow>[] = [
  { name: "name", title: t.event, text: (row) => row.name },
  { name: "at", title: t.at, text: (row) => time(row.at) },
  { name: "agent", title: t.agent, text: (row) => row.agent ?? "–" },
  { name: "user", title: t.user, text: (row) => row.user ?? "–" },
  { name: "chat", title: t.chat, text: (row) => row.chat ?? "–" },
  { name: "context", title: t.context, text: (row) => row.key ?? "–" },
  { name: "turn", title: t.turn, text: (row) => row.turn ?? "–" },
];
