// An examination of the stores: its findings as they come. It is no read: it is started by hand, and never by itself again.

import { send } from "../../api";
import { ApiError } from "../../api-error";
import type { Loaded, PartState } from "../../resource.svelte";
import { SseParser, type SseEvent } from "../../sse-parser";
import type { DoctorOutcome, Finding } from "./system-types";

/** Findings are shown in batches: each one by itself would draw the page as often. */
const BATCH = 100;

export class Examination implements Loaded {
  state = $state<PartState>("empty");
  error = $state.raw<ApiError | null>(null);
  findings = $state.raw<Finding[]>([]);
  /** Findings that came too fast for the server to send. */
  missed = $state(0);
  outcome = $state.raw<DoctorOutcome | null>(null);
  /** Why it did not come to its end: what the server says, `lost` or `stopped`. */
  failure = $state<{ is: "told"; message: string } | { is: "lost" | "stopped" } | null>(null);
  isRunning = $state(false);
  #operation: "doctor" | "repair" = "doctor";
  #stop = new AbortController();

  /** Starts again what was refused. */
  refresh(): Promise<void> {
    return this.run(this.#operation);
  }

  async run(operation: "doctor" | "repair"): Promise<void> {
    this.stop();
    const own = new AbortController();
    this.#stop = own;
    this.#operation = operation;
    this.#begin();
    try {
      const answer = await send("POST", `/system/${operation}`, { headers: { Accept: "text/event-stream" }, signal: own.signal });
      this.state = "ready";
      await this.#read(answer);
      if (this.outcome === null && this.failure === null) this.failure = { is: "lost" };
    } catch (cause) {
      // A later examination has taken the place of this one.
      if (this.#stop !== own) return;
      this.#fail(cause, own.signal);
    } finally {
      if (this.#stop === own) this.isRunning = false;
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  #begin(): void {
    this.state = "loading";
    this.error = null;
    this.findings = [];
    this.missed = 0;
    this.outcome = null;
    this.failure = null;
    this.isRunning = true;
  }

  #fail(cause: unknown, signal: AbortSignal): void {
    if (cause instanceof ApiError) {
      this.error = cause;
      this.state = cause.status === 403 ? "denied" : "error";
      return;
    }
    this.state = "ready";
    this.failure = { is: signal.aborted ? "stopped" : "lost" };
  }

  async #read(answer: Response): Promise<void> {
    const reader = answer.body?.getReader();
    const parser = new SseParser();
    while (reader) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = parser.push(value);
      for (let at = 0; at < events.length; at += BATCH) this.#take(events.slice(at, at + BATCH));
    }
  }

  #take(events: readonly SseEvent[]): void {
    const found: Finding[] = [];
    for (const { name, data } of events) {
      const value: unknown = JSON.parse(data);
      if (name === "finding") found.push(value as Finding);
      else if (name === "missed") this.missed += (value as { count: number }).count;
      else if (name === "done") this.outcome = value as DoctorOutcome;
      else if (name === "error") this.failure = { is: "told", message: (value as { message: string }).message };
    }
    if (found.length > 0) this.findings = [...this.findings, ...found];
  }
}
