// What a stream tells of a turn and no stored message has: how long things took, how blocks and threads are called, why it failed.

export class TurnFacts {
  /** Milliseconds by message id: of a thought, or of a tool that has run. */
  readonly durations = new Map<string, number>();
  readonly labels = new Map<string, string>();
  readonly endedThreads = new Set<string>();
  /** Why the turn failed. */
  failure: { message: string; code: string } | null = null;
  readonly #endedAt = new Map<string, number>();

  note(event: string, data: Readonly<Record<string, unknown>>): void {
    const text = (name: string) => (typeof data[name] === "string" ? data[name] : null);
    const at = typeof data.timestamp === "number" ? data.timestamp : 0;
    const message = text("message_id");
    if (event === "message_start" && message !== null && data.amend === true) this.#noteResult(message, at);
    else if (event === "message_end" && message !== null && data.amend !== true) this.#noteEnd(message, at, data);
    else if (event === "block_start" || event === "thread_start") this.#noteLabel(text("block_id") ?? text("thread_id"), text("label"));
    else if (event === "stream_end" && data.status === "error") this.failure = { message: text("error") ?? "", code: text("code") ?? "" };
    else if (event === "thread_end") this.endedThreads.add(text("thread_id") ?? "");
  }

  /** A tool has run from the end of its call to the amendment with its result. */
  #noteResult(message: string, at: number): void {
    const ended = this.#endedAt.get(message);
    if (ended !== undefined && at >= ended) this.durations.set(message, at - ended);
  }

  #noteEnd(message: string, at: number, data: Readonly<Record<string, unknown>>): void {
    this.#endedAt.set(message, at);
    if (data.type === "thinking" && typeof data.duration_ms === "number") this.durations.set(message, data.duration_ms);
  }

  #noteLabel(id: string | null, label: string | null): void {
    if (id !== null && label !== null && label !== "") this.labels.set(id, label);
  }
}
