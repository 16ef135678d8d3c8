// The order in which messages are shown: what is stored with a running turn in it, then by turns, lanes and blocks.

import type { ChatMessage } from "./chat-types";

/** Whether a message is of this turn, and in the view. */
export function isOfTurn(message: ChatMessage, requestId: string): boolean {
  return message.request_id === requestId && message.superseded_by === null;
}

/** Stored messages, with those of a stream in the place of what is stored of its turn; what persons wrote stays where it is. */
export function withRunning(stored: readonly ChatMessage[], requestId: string, streamed: readonly ChatMessage[]): ChatMessage[] {
  const isOwn = (message: ChatMessage) => isOfTurn(message, requestId);
  const turn = [...streamed];
  let place = 0;
  for (const message of stored.filter(isOwn)) {
    if (message.role === "user") {
      turn.splice(place, 0, message);
      place += 1;
    } else {
      const at = turn.findIndex((other) => other.id === message.id);
      if (at >= 0) place = at + 1;
    }
  }
  return [...stored.filter((message) => !isOwn(message)), ...turn];
}

export interface MessageEntry {
  is: "message";
  key: string;
  message: ChatMessage;
}

export interface BlockEntry {
  is: "block";
  key: string;
  id: string;
  entries: MessageEntry[];
}

export interface ThreadEntry {
  is: "thread";
  key: string;
  id: string;
  entries: (MessageEntry | BlockEntry)[];
}

export interface TurnGroup {
  key: string;
  requestId: string;
  messages: ChatMessage[];
  entries: (MessageEntry | BlockEntry | ThreadEntry)[];
}

/** Neighbours of one request are a turn; a message of no request stands alone. */
export function groupTurns(messages: readonly ChatMessage[]): TurnGroup[] {
  const groups: TurnGroup[] = [];
  const seen = new Map<string, number>();
  for (const message of messages) {
    const last = groups.at(-1);
    if (last && message.request_id !== "" && last.requestId === message.request_id) {
      last.messages.push(message);
      continue;
    }
    const count = seen.get(message.request_id) ?? 0;
    seen.set(message.request_id, count + 1);
    groups.push({ key: `${message.request_id} ${count}`, requestId: message.request_id, messages: [message], entries: [] });
  }
  for (const group of groups) group.entries = lanes(group.messages);
  return groups;
}

/** A thread stands where its first message came; the messages of threads may interleave. */
function lanes(messages: readonly ChatMessage[]): TurnGroup["entries"] {
  const main: ChatMessage[][] = [];
  const threads = new Map<string, ChatMessage[]>();
  for (const message of messages) {
    const id = message.thread_id || null;
    const known = id === null ? main.at(-1) : threads.get(id);
    if (known && (id !== null || !known[0]?.thread_id)) {
      known.push(message);
      continue;
    }
    const lane = [message];
    main.push(lane);
    if (id !== null) threads.set(id, lane);
  }
  const blocks = new Map<string, BlockEntry>();
  return main.flatMap<TurnGroup["entries"][number]>((lane) => {
    const id = lane[0]?.thread_id;
    if (!id) return byBlocks(lane, blocks);
    return [{ is: "thread", key: `thread ${id}`, id, entries: byBlocks(lane, new Map()) }];
  });
}

/** A block stands where its first message came. */
function byBlocks(messages: readonly ChatMessage[], blocks: Map<string, BlockEntry>): (MessageEntry | BlockEntry)[] {
  const entries: (MessageEntry | BlockEntry)[] = [];
  for (const message of messages) {
    const entry: MessageEntry = { is: "message", key: `${message.id} ${message.sequence ?? ""}`, message };
    const id = message.block_id || null;
    const known = id === null ? undefined : blocks.get(id);
    if (known) {
      known.entries.push(entry);
    } else if (id !== null) {
      const block: BlockEntry = { is: "block", key: `block ${id}`, id, entries: [entry] };
      blocks.set(id, block);
      entries.push(block);
    } else {
      entries.push(entry);
    }
  }
  return entries;
}
