// Manifests of calls name messages by the ids of a history's items. A chat shows them under ids of their turns.

import { api } from "../../api";
import { ApiError } from "../../api-error";
import type { ContextItem, ContextItemPage } from "../contexts/context-types";

const PAGE = 100;
/** An item is looked for in so many pages. */
const MOST_PAGES = 20;

interface StoredMessage {
  turn_id?: string;
  message_id?: string;
  /** What an answer was shown as. */
  shown?: { message_id: string; call?: string | number }[];
  tool_calls?: { id: string }[];
  tool_result?: { call_id: string };
}

/** The id under which a chat shows what the URL names; that itself where it is no item that can be read. */
export async function shownMessageId(context: string, id: string): Promise<string> {
  // Those of turns have a dot.
  if (id.includes(".")) return id;
  const find = shownIdFinder(id);
  let before: number | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page: ContextItemPage | null = await readItems(context, before);
    for (const item of page?.items.toReversed() ?? []) {
      const found = find(item);
      if (found !== null) return found;
    }
    if (!page || page.next === null) break;
    before = page.next;
  }
  return id;
}

async function readItems(context: string, before: number | null): Promise<ContextItemPage | null> {
  try {
    return await api.get<ContextItemPage>(`/contexts/${encodeURIComponent(context)}/items`, { query: { archive: true, limit: PAGE, before } });
  } catch (cause) {
    if (cause instanceof ApiError) return null;
    throw cause;
  }
}

/** Takes items, the newest first, until it is known how the one with this id is shown: a result of a tool as part of the call before it. */
export function shownIdFinder(id: string): (item: ContextItem) => string | null {
  let result: { turn: string; call: string } | null = null;
  return ({ id: itemId, item }) => {
    const message: StoredMessage = item;
    const turn = message.turn_id ?? "";
    const named = (name: string) => (turn === "" ? name : `${turn}.${name}`);
    if (result !== null) {
      const shown = turn === result.turn ? shownCall(message, result.call) : null;
      return shown === null ? null : named(shown);
    }
    if (itemId !== id) return null;
    if (!message.tool_result) return named(message.message_id ?? message.shown?.[0]?.message_id ?? itemId);
    result = { turn, call: message.tool_result.call_id };
    return null;
  };
}

/** The message as which a call was shown: it names the call, or says which one of the answer it is. */
function shownCall({ shown = [], tool_calls: calls = [] }: StoredMessage, call: string): string | null {
  const part = shown.find((one) => one.call === call || (typeof one.call === "number" && calls[one.call]?.id === call));
  return part?.message_id ?? null;
}
