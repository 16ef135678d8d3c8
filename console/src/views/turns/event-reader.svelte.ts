// Reads the stream of a turn in a format, from a number on. Call it while a component is set up.

import { ApiError } from "../../api-error";
import type { Loaded, PartState } from "../../resource.svelte";
import { follow } from "../../sse";
import type { SseEvent } from "../../sse-parser";
import { eventLine, type EventLine } from "./event-lines";

export interface StreamChoice {
  path: string;
  format: string;
  after: string;
}

const INTERVAL = 200;

class EventReader implements Loaded {
  state = $state<PartState>("loading");
  error = $state.raw<ApiError | null>(null);
  lines = $state.raw<readonly EventLine[]>([]);
  readonly #choice: () => StreamChoice;
  readonly #isRunning: () => boolean;
  #stop = new AbortController();
  #all: EventLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(choice: () => StreamChoice, isRunning: () => boolean) {
    this.#choice = choice;
    this.#isRunning = isRunning;
  }

  async refresh(): Promise<void> {
    this.stop();
    const { path, format, after } = this.#choice();
    const stop = new AbortController();
    this.#stop = stop;
    this.#all = [];
    this.lines = [];
    this.state = "loading";
    let opened = 0;
    let before: string | null = null;
    const onEvent = (event: SseEvent) => {
      this.#all.push(eventLine(event, before, Date.now()));
      before = event.id;
      this.#timer ??= setTimeout(() => this.#show(), INTERVAL);
    };
    const onOpen = () => {
      // How a stream ends is said by its format; that it was closed and the turn is over says it for all of them.
      if (opened > 0 && !this.#isRunning()) stop.abort();
      opened += 1;
      // What came behind the last number comes once more; formats without numbers begin anew.
      this.#all.length = this.#all.findLastIndex((line) => line.number !== null) + 1;
      this.#timer ??= setTimeout(() => this.#show(), INTERVAL);
    };
    try {
      await follow(path, { query: { accept: format, after }, signal: stop.signal, onEvent, onOpen, isLast: isStreamEnd });
    } catch (cause) {
      if (!stop.signal.aborted) this.#fail(cause);
    }
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #show(): void {
    this.#timer = undefined;
    this.lines = this.#all.slice();
    this.state = this.lines.length === 0 ? "empty" : "ready";
  }

  #fail(cause: unknown): void {
    this.error = cause instanceof ApiError ? cause : new ApiError(0, "internal", String(cause));
    const status = this.error.status;
    this.state = status === 403 ? "denied" : status === 404 || status === 410 ? "gone" : "error";
  }
}

/** The last entry of the formats of Ambit's own. */
function isStreamEnd(event: SseEvent): boolean {
  return event.data.startsWith('{"type":"event"') && event.data.includes('"event":"stream_end"');
}

/** Reads as long as the component is there, and anew when the choice changes. */
export function eventReader(choice: () => StreamChoice, isRunning: () => boolean): EventReader {
  const reader = new EventReader(choice, isRunning);
  $effect(() => {
    choice();
    void reader.refresh();
    return () => reader.stop();
  });
  return reader;
}
