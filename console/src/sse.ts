// Streams read with `fetch`, resumed by number: after a lost connection, and after the tab was hidden.

import { ApiError } from "./api-error";
import { send, type Query } from "./api";
import { setConnectionLost } from "./connection.svelte";
import { pause, reconnectDelay } from "./retry";
import { SseParser, type SseEvent } from "./sse-parser";
import { isSeen, onSeenChange, untilSeen } from "./visibility";

export interface StreamOptions {
  query?: Query;
  /** The number behind which the stream begins. */
  after?: string | null;
  onEvent: (event: SseEvent) => void;
  /** Says whether this event is the stream's last one. */
  isLast?: (event: SseEvent) => boolean;
  /** Each time that the stream is open again: what came behind the last number comes once more. */
  onOpen?: () => void;
  /** The feed that all tabs share is none of the two streams of its own that a tab may hold. */
  isShared?: boolean;
  signal: AbortSignal;
}

/** What a tab may hold at once; browsers give six connections to one server, for all tabs together. */
const MOST_STREAMS = 2;
const open: AbortController[] = [];

/**
 * Reads the stream of `path` until its last event, through all interruptions. Ends with an `ApiError` if the server refuses,
 * and with the signal's reason if that says so. A third stream of the tab ends the oldest one.
 */
export async function follow(path: string, options: StreamOptions): Promise<void> {
  const own = options.isShared ? new AbortController() : takeSlot();
  const signal = AbortSignal.any([options.signal, own.signal]);
  let after = options.after ?? null;
  const onEvent = (event: SseEvent): boolean => {
    after = event.id ?? after;
    options.onEvent(event);
    return options.isLast?.(event) ?? false;
  };
  try {
    for (let failures = 0; ; ) {
      await untilSeen(signal);
      const end = await readOnce(path, { ...options, after, signal }, onEvent);
      if (end === "last") return;
      failures = end === "lost" ? failures + 1 : 0;
      if (isSeen()) await pause(reconnectDelay(Math.max(failures - 1, 0)), signal);
    }
  } finally {
    freeSlot(own);
  }
}

type StreamEnd = "last" | "closed" | "lost" | "hidden";

async function readOnce(path: string, options: StreamOptions, onEvent: (event: SseEvent) => boolean): Promise<StreamEnd> {
  const { query, after, signal } = options;
  const hidden = new AbortController();
  const stopWatching = onSeenChange((seen) => {
    if (!seen) hidden.abort();
  });
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (after != null) headers["Last-Event-ID"] = after;
    const answer = await send("GET", path, {
      headers,
      signal: AbortSignal.any([signal, hidden.signal]),
      ...(query && { query }),
    });
    options.onOpen?.();
    return (await readEvents(answer, onEvent)) ? "last" : "closed";
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    if (hidden.signal.aborted) return "hidden";
    if (cause instanceof ApiError) throw cause;
    setConnectionLost(true);
    return "lost";
  } finally {
    stopWatching();
  }
}

/** Whether the last event was among those read. */
async function readEvents(answer: Response, onEvent: (event: SseEvent) => boolean): Promise<boolean> {
  const reader = answer.body?.getReader();
  const parser = new SseParser();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    if (parser.push(value).map(onEvent).includes(true)) {
      await reader.cancel();
      return true;
    }
  }
  return false;
}

function takeSlot(): AbortController {
  while (open.length >= MOST_STREAMS) {
    open.shift()?.abort(new DOMException("a newer stream of this tab took its place", "AbortError"));
  }
  const own = new AbortController();
  open.push(own);
  return own;
}

function freeSlot(own: AbortController): void {
  const at = open.indexOf(own);
  if (at >= 0) open.splice(at, 1);
}
