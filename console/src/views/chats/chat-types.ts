// What the routes of chats answer, and the requests on one chat: it is named by its history's row, so that `-` stands for its name.

import { api, send, type Query } from "../../api";
import { ApiError } from "../../api-error";
import { pause } from "../../retry";
import type { Filters } from "../../url";
import type { Message, Page } from "../../wire";

export interface Chat {
  chat_id: string;
  title: string;
  assistant_id: string;
  last_connector: string | null;
  last_mode: string | null;
  status: "active" | "archived";
  share: "private" | "team";
  metadata: Record<string, unknown>;
  last_message_at: number;
  created_at: number;
  /** The id of the history's row in the index. */
  context: string;
  user_id: string | null;
  team_id?: string | null;
  /** The request that works on it; servers may leave this out. */
  running?: string | null;
}

/** A stored message, or one of a stream that is not stored yet. */
export interface ChatMessage extends Message {
  /** `<request_id>.<message_id>`. */
  id: string;
  request_id: string;
  message_id: string;
  role: "user" | "assistant";
  assistant_id: string;
  /** Its place in the chat; null until it is stored. */
  sequence: number | null;
  status: string;
  amended: boolean;
  created_at: number | null;
  superseded_by: string | null;
}

export interface MessagePage {
  items: ChatMessage[];
  next: number | null;
}

export interface ChatChange {
  title?: string;
  status?: Chat["status"];
  share?: Chat["share"];
}

/** An agent, as far as one writes to it. */
export interface ChatAgent {
  assistant_id: string;
  name: string;
  description: string;
  modes: string[];
  default_mode: string;
  connector_options: { optional?: boolean; connectors?: string[] } | null;
  placeholder: { title?: string; prompts?: string[] } | null;
}

interface NumberedPage<T> {
  data: T[];
  next: number;
}

/** What picks exactly the chat of this row, on every route with a chat id. */
export const chatQuery = (context: string, more: Query = {}): Query => ({ ...more, context });
export const CHAT = "/chat/sessions/-";
export const MESSAGES = `${CHAT}/messages`;

/** A page of the list; its cursor is the number of the page. */
export async function readChats(filters: Filters, page: { cursor?: string; limit: number }, signal: AbortSignal): Promise<Page<Chat>> {
  const query = { ...filters, page: page.cursor ?? 1, pagesize: page.limit };
  const found = await api.get<NumberedPage<Chat>>("/chat/sessions", { query, signal });
  return { items: found.data, next: found.next > 0 ? String(found.next) : null };
}

export function readChat(context: string, signal?: AbortSignal): Promise<Chat> {
  return api.get<Chat>(CHAT, { query: chatQuery(context), ...(signal && { signal }) });
}

export function changeChat(context: string, change: ChatChange): Promise<Chat> {
  return api.put<Chat>(CHAT, change, { query: chatQuery(context) });
}

export async function removeChat(context: string): Promise<void> {
  await send("DELETE", CHAT, { query: chatQuery(context) });
}

const ROW_TRIES = 10;

/** The chat of this name that a turn has just begun; its row may be a moment behind the first frame. */
export async function findChat(name: string, agent: string): Promise<Chat> {
  const path = `/chat/sessions/${encodeURIComponent(name)}`;
  for (let tries = 1; ; tries += 1) {
    try {
      return await api.get<Chat>(path, { query: { assistant_id: agent } });
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.status !== 404 || tries === ROW_TRIES) throw cause;
      await pause(200);
    }
  }
}

export async function readAgents(signal?: AbortSignal): Promise<ChatAgent[]> {
  const agents: ChatAgent[] = [];
  for (let page = 1; page > 0; ) {
    const found: NumberedPage<ChatAgent> = await api.get("/agent/assistants", { query: { page, pagesize: 100 }, ...(signal && { signal }) });
    agents.push(...found.data);
    page = found.next;
  }
  return agents;
}

/** All messages behind a place, oldest first. */
export async function readMessagesAfter(context: string, after: number, superseded: boolean): Promise<ChatMessage[]> {
  const items: ChatMessage[] = [];
  for (let from: number | null = after; from !== null; ) {
    const query = chatQuery(context, { after: from, limit: 100, superseded: superseded || null });
    const page: MessagePage = await api.get(MESSAGES, { query });
    items.push(...page.items);
    from = page.next;
  }
  return items;
}

export function readMessagesBefore(context: string, before: number | null, superseded: boolean, limit = 50): Promise<MessagePage> {
  return api.get<MessagePage>(MESSAGES, { query: chatQuery(context, { before, limit, superseded: superseded || null }) });
}
