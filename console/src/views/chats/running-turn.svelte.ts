// A turn while it runs: its `cui-web` stream, folded from its start, as messages that can be shown.

import { send } from "../../api";
import { Fold, type FoldedMessage } from "../../fold";
import { follow } from "../../sse";
import type { Frame } from "../../wire";
import type { ChatMessage } from "./chat-types";
import { TurnFacts } from "./turn-facts";

/** Events that are shown otherwise than as a line. */
const STRUCTURE = new Set([
  "stream_start", "stream_end", "message_start", "message_end", "block_start", "block_end", "thread_start", "thread_end", "step_start",
  "step_end", "references", "state",
]);

interface ShownFold {
  props: unknown;
  status: string;
  type: string;
  shown: ChatMessage;
}

export class RunningTurn {
  readonly requestId: string;
  readonly facts = new TurnFacts();
  messages = $state.raw<ChatMessage[]>([]);
  contextId = $state<string | null>(null);
  /** `status error code` of `stream_end`. */
  end = $state.raw<Record<string, unknown> | null>(null);
  readonly #fold = new Fold();
  readonly #shown = new Map<string, ShownFold>();
  /** Events to show, and how many messages stand before each. */
  readonly #lines: { at: number; shown: ChatMessage }[] = [];
  readonly #stop = new AbortController();
  #assistantId = "";
  #isDrawing = false;

  constructor(requestId: string) {
    this.requestId = requestId;
  }

  /** Follows to the end of the turn. `onStored` is called when messages of persons may have been stored. */
  async run(onStored: () => void): Promise<void> {
    const path = `/chat/requests/${encodeURIComponent(this.requestId)}/stream`;
    await follow(path, {
      query: { accept: "cui-web" },
      signal: this.#stop.signal,
      onEvent: ({ data }) => this.#apply(JSON.parse(data) as Frame, onStored),
      isLast: () => this.#fold.state.end !== null,
    });
    this.#draw();
  }

  stop(): void {
    this.#stop.abort();
  }

  async cancel(): Promise<void> {
    await send("POST", `/chat/requests/${encodeURIComponent(this.requestId)}/cancel`);
  }

  #apply(frame: Frame, onStored: () => void): void {
    this.#fold.apply(frame);
    if (frame.type === "event" && frame.chunk_id === undefined) this.#event(frame, onStored);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => this.#draw(), 16);
  }

  #event(frame: Frame, onStored: () => void): void {
    const event = String(frame.props.event);
    const data = (frame.props.data ?? {}) as Record<string, unknown>;
    this.facts.note(event, data);
    if (event === "stream_start") {
      this.contextId = String(data.context_id);
      this.#assistantId = String((data.assistant as Record<string, unknown> | undefined)?.assistant_id ?? "");
    }
    if (event === "stream_start" || event === "interrupt") onStored();
    if (!STRUCTURE.has(event)) this.#line(frame);
  }

  #line(frame: Frame): void {
    const at = this.#fold.state.messages.length;
    this.#lines.push({ at, shown: this.#message(`E${this.#lines.length + 1}`, frame, "completed", false) });
  }

  #draw(): void {
    this.#isDrawing = false;
    const drawn = this.#fold.state.messages.map((message) => this.#show(message));
    for (const { at, shown } of this.#lines.toReversed()) drawn.splice(at, 0, shown);
    this.messages = drawn;
    this.end = this.#fold.state.end;
  }

  /** The same object as long as nothing of the message changes, so that nothing is drawn again. */
  #show(message: FoldedMessage): ChatMessage {
    const known = this.#shown.get(message.message_id);
    if (known && known.props === message.props && known.status === message.status && known.type === message.type) return known.shown;
    const shown = this.#message(message.message_id, message, message.status, message.amended);
    this.#shown.set(message.message_id, { props: message.props, status: message.status, type: message.type, shown });
    return shown;
  }

  #message(id: string, of: Frame | FoldedMessage, status: string, amended: boolean): ChatMessage {
    const { type, props, block_id, thread_id, metadata } = of;
    return {
      id: `${this.requestId}.${id}`,
      message_id: id,
      request_id: this.requestId,
      role: "assistant",
      assistant_id: this.#assistantId,
      sequence: null,
      created_at: null,
      superseded_by: null,
      type,
      props,
      status,
      amended,
      ...(block_id !== undefined && { block_id }),
      ...(thread_id !== undefined && { thread_id }),
      ...(metadata !== undefined && { metadata }),
    };
  }
}
