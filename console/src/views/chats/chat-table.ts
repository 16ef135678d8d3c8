// Columns and filters of the list of chats.

import type { Column } from "../../components/columns";
import type { FilterField } from "../../components/filter-fields";
import { ago, timeWithZone } from "../../format";
import { sessionState } from "../../session.svelte";
import { say } from "../../texts";
import { chatsTexts as t } from "../../texts/chats";
import { readAgents, type Chat } from "./chat-types";

function marks(chat: Chat): string {
  const words = [];
  if (chat.running) words.push(`● ${say(t.running)}`);
  if (chat.share === "team") words.push(say(t.shared));
  if (chat.status === "archived") words.push(say(t.archived));
  return words.join(" · ");
}

/** Whose chat it is, if not the caller's. */
export function otherOwner(chat: Chat): string {
  const state = sessionState();
  const me = state.is === "known" ? state.session.user_id : null;
  return chat.user_id && chat.user_id !== me ? chat.user_id : "";
}

const TITLE: Column<Chat> = { name: "title", title: t.title, width: "minmax(160px, 3fr)", text: (chat) => chat.title || say(t.untitled) };
const MARKS: Column<Chat> = { name: "marks", title: t.state, width: "minmax(90px, 1fr)", text: marks };

export const COLUMNS: readonly Column<Chat>[] = [
  TITLE,
  { name: "assistant_id", title: t.agent, width: "minmax(90px, 1fr)", text: (chat) => chat.assistant_id },
  {
    name: "last_message_at",
    title: t.lastMessage,
    width: "130px",
    text: (chat) => ago(chat.last_message_at),
    hint: (chat) => timeWithZone(chat.last_message_at),
  },
  MARKS,
  { name: "user_id", title: t.owner, width: "minmax(80px, 1fr)", text: otherOwner },
];

/** Beside an open chat. */
export const NARROW_COLUMNS: readonly Column<Chat>[] = [TITLE, MARKS];

async function suggestAgents(prefix: string): Promise<string[]> {
  const agents = await readAgents();
  return agents.map((agent) => agent.assistant_id).filter((id) => id.startsWith(prefix));
}

export const FIELDS: readonly FilterField[] = [
  { name: "keywords", label: t.keywords },
  { name: "q", label: t.said },
  { name: "assistant_id", label: t.agent, suggest: suggestAgents },
  { name: "status", label: t.state, options: [{ value: "active", label: t.active }, { value: "archived", label: t.archived }] },
  { name: "running", label: t.turn, options: [{ value: "true", label: t.running }, { value: "false", label: t.idle }] },
  { name: "user_id", label: t.owner },
  { name: "from", label: t.from, type: "date" },
  { name: "to", label: t.to, type: "date" },
  {
    name: "order_by",
    label: t.order,
    options: [
      { value: "last_message_at", label: t.lastMessage },
      { value: "created_at", label: t.created },
      { value: "updated_at", label: t.updated },
      { value: "sort", label: t.sort },
    ],
  },
];
