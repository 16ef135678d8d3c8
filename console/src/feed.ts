// The feed of events (`GET /v1/events`), read by one tab of the browser for all tabs of the same caller.

import { ApiError } from "./api-error";
import { pause } from "./retry";
import type { SseEvent } from "./sse-parser";
import { follow } from "./sse";
import { onSeenChange, untilSeen } from "./visibility";

export interface FeedEvent {
  /** `MessageAdded`, `ContextCleared` …; `missed`: there were more than the feed could keep, so lists are read again. */
  name: string;
  data: Record<string, unknown>;
}

interface SharedEvent extends FeedEvent {
  id: string | null;
}

const POLL = 10_000;
const MISSED: SharedEvent = { id: null, name: "missed", data: {} };
const listeners = new Set<(event: FeedEvent) => void>();

/** Calls back for each event of the feed; the answer stops that. */
export function onFeed(listener: (event: FeedEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows the feed as `caller`, whose tabs share it; without the Web Locks API lists are told every ten seconds to read again. */
export function startFeed(caller: string): () => void {
  const stop = new AbortController();
  const run = "locks" in navigator ? share(caller, stop.signal) : poll(stop.signal);
  run.catch((cause: unknown) => {
    if (!stop.signal.aborted) console.warn("the feed of events ended", cause);
  });
  return () => stop.abort();
}

async function poll(signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(POLL, signal);
    await untilSeen(signal);
    tell(MISSED);
  }
}

/** Whichever tab holds the lock reads, and the others hear of it. A hidden tab gives the lock away. */
async function share(caller: string, signal: AbortSignal): Promise<void> {
  const name = `ambit-feed ${caller}`;
  const channel = new BroadcastChannel(name);
  let newest: string | null = null;
  channel.onmessage = ({ data }: MessageEvent<SharedEvent>) => {
    newest = data.id ?? newest;
    tell(data);
  };
  const publish = (event: SharedEvent) => {
    newest = event.id ?? newest;
    channel.postMessage(event);
    tell(event);
  };
  signal.addEventListener("abort", () => channel.close(), { once: true });
  while (!signal.aborted) {
    await untilSeen(signal);
    const hidden = new AbortController();
    const stopWatching = onSeenChange((seen) => {
      if (!seen) hidden.abort();
    });
    const turn = AbortSignal.any([signal, hidden.signal]);
    try {
      await navigator.locks.request(name, { signal: turn }, () => read(() => newest, publish, turn));
    } catch (cause) {
      if (!turn.aborted) throw cause;
    } finally {
      stopWatching();
    }
  }
}

/** Reads as long as the tab is seen. Numbers that the server no longer has mean that something was missed. */
async function read(newest: () => string | null, publish: (event: SharedEvent) => void, signal: AbortSignal): Promise<void> {
  let after = newest();
  // What happened between the first look at a list and the opening of the feed is told by no event.
  let isBehind = after === null;
  const onOpen = () => {
    if (isBehind) tell(MISSED);
    isBehind = false;
  };
  for (;;) {
    try {
      await follow("/events", { after, signal, isShared: true, onOpen, onEvent: (event) => publish(sharedEvent(event)) });
    } catch (cause) {
      if (signal.aborted || !(cause instanceof ApiError)) throw cause;
      if (cause.status !== 410 && cause.status !== 400) throw cause;
      after = null;
      publish(MISSED);
    }
    await pause(POLL, signal);
  }
}

function sharedEvent(event: SseEvent): SharedEvent {
  return { id: event.id, name: event.name, data: JSON.parse(event.data) as Record<string, unknown> };
}

function tell(event: FeedEvent): void {
  for (const listener of listeners) listener(event);
}
