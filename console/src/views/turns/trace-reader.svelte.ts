// Follows the trace of a turn: all that there is, then what comes. Call it while a component is set up.

import { ApiError } from "../../api-error";
import type { Loaded, PartState } from "../../resource.svelte";
import { follow } from "../../sse";
import type { SseEvent } from "../../sse-parser";
import type { EventLine } from "./event-lines";
import { TraceModel } from "./trace-model";
import type { TraceEvent } from "./turn-types";

/** Longer the page is not kept busy in one go. */
const SLICE = 8;
/** So many events are worked off before the clock is looked at. */
const BATCH = 20;
/** So often what is shown follows what is read. */
const INTERVAL = 200;
/** So long after a stream was opened it is said that there is nothing yet. */
const PATIENCE = 500;

export interface TraceReading extends Loaded {
  /** The trace by now; read `version` to hear of changes. */
  readonly model: TraceModel;
  /** What it was made from, as it came. */
  readonly lines: readonly EventLine[];
  readonly version: number;
}

export class TraceReader implements TraceReading {
  state = $state<PartState>("loading");
  error = $state.raw<ApiError | null>(null);
  /** Grows with each change that is to be shown. */
  version = $state(0);
  model = new TraceModel();
  lines: EventLine[] = [];
  readonly #path: string;
  #stop = new AbortController();
  #waiting: SseEvent[] = [];
  /** What has come of an entry whose number has not: a stream that is resumed sends it again. */
  #entry: SseEvent[] = [];
  #number: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shownAt = 0;
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async refresh(): Promise<void> {
    this.stop();
    this.#stop = new AbortController();
    this.model = new TraceModel();
    this.lines = [];
    this.#waiting = [];
    this.#entry = [];
    this.#number = null;
    this.state = "loading";
    const { signal } = this.#stop;
    try {
      await follow(this.#path, {
        query: { brief: true },
        signal,
        onOpen: () => this.#open(),
        onEvent: (event) => this.#take(event),
        isLast: (event) => event.name === "complete",
      });
    } catch (cause) {
      if (!signal.aborted) this.#fail(cause);
    }
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#patience);
    this.#timer = undefined;
  }

  /** A trace is saved step by step, so that a turn that has just begun may have nothing of it yet. */
  #open(): void {
    this.#entry = [];
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => {
      if (this.state === "loading") this.state = "empty";
    }, PATIENCE);
  }

  #take(event: SseEvent): void {
    this.#entry.push(event);
    if (event.id === this.#number) return;
    this.#number = event.id;
    // Only behind the last event of an entry all of it is known, so that one alone has its number.
    for (const part of this.#entry) this.#waiting.push({ ...part, id: part === event ? event.id : null });
    this.#entry = [];
    this.#timer ??= setTimeout(() => this.#work(), Math.max(0, this.#shownAt + INTERVAL - performance.now()));
  }

  /** Works off what has come, in slices: a trace of thousands of nodes does not stop the page. */
  #work(): void {
    const until = performance.now() + SLICE;
    let done = 0;
    while (done < this.#waiting.length && performance.now() < until) {
      for (const event of this.#waiting.slice(done, done + BATCH)) this.#apply(event);
      done += BATCH;
    }
    this.#waiting = this.#waiting.slice(done);
    const isDone = this.#waiting.length === 0;
    if (isDone || performance.now() - this.#shownAt > INTERVAL) this.#show();
    this.#timer = isDone ? undefined : setTimeout(() => this.#work(), 0);
  }

  #apply({ id, name, data }: SseEvent): void {
    const event = JSON.parse(data) as TraceEvent;
    this.model.apply(event);
    const at = event.at ?? event.node?.start_at ?? event.space?.created_at ?? null;
    this.lines.push({ number: id, name, at, isReceived: false, text: data });
  }

  #show(): void {
    this.#shownAt = performance.now();
    this.version += 1;
    if (this.model.nodes.length > 0 || this.model.status !== null) this.state = "ready";
  }

  #fail(cause: unknown): void {
    this.error = cause instanceof ApiError ? cause : new ApiError(0, "internal", String(cause));
    const status = this.error.status;
    this.state = status === 403 ? "denied" : status === 404 || status === 410 ? "gone" : "error";
  }
}

/** Follows the trace of a turn as long as the component is there. */
export function traceReader(requestId: string): TraceReader {
  const reader = new TraceReader(`/trace/traces/${encodeURIComponent(requestId)}/events`);
  $effect(() => {
    void reader.refresh();
    return () => reader.stop();
  });
  return reader;
}
