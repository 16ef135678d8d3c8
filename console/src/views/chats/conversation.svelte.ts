// One chat that is open: its stored messages, the turn that runs in it, and what a person has sent meanwhile.

import { api } from "../../api";
import { ApiError } from "../../api-error";
import type { FeedEvent } from "../../feed";
import type { Loaded, PartState } from "../../resource.svelte";
import { findChat, readChat, readMessagesAfter, readMessagesBefore, type Chat, type ChatMessage, type MessagePage } from "./chat-types";
import { RunningTurn } from "./running-turn.svelte";
import { groupTurns, isOfTurn, withRunning } from "./shown-messages";
import type { TurnFacts } from "./turn-facts";
import { contentOf, randomKey, startTurn, type ContentPart, type TurnChoices, type TurnInput } from "./turn-input";

/** What was sent and is not stored yet. */
export interface WaitingInput {
  key: string;
  kind: "sending" | "queued" | "appended";
  content: string | ContentPart[];
  /** The turn it belongs to, once that is known. */
  requestId: string | null;
}

/** A chat that a turn has begun. */
export interface BegunChat {
  chat: Chat;
  requestId: string;
}

const NOTICE = 200;
/** How many messages are read again when something has changed. */
const AGAIN = 100;

export class Conversation implements Loaded {
  state = $state<PartState>("loading");
  error = $state.raw<ApiError | null>(null);
  chat = $state.raw<Chat | null>(null);
  stored = $state.raw<ChatMessage[]>([]);
  /** Where older messages are. */
  next = $state.raw<number | null>(null);
  turn = $state.raw<RunningTurn | null>(null);
  waiting = $state.raw<WaitingInput[]>([]);
  isWithReplaced = $state(false);
  readonly facts = new Map<string, TurnFacts>();
  /** The id of the history's row; null in a new chat. */
  readonly context: string | null;
  /** The turn that began the chat just now: it is shown from its start, even if it has ended meanwhile. */
  #begunBy: string | null;
  /** The name of a new or temporary chat, if it has one. */
  #name: string | null;
  readonly #stop = new AbortController();
  readonly #finished = new Set<string>();
  #following: Promise<void> = Promise.resolve();
  #reads = 0;
  #notice: ReturnType<typeof setTimeout> | undefined;

  /** The turns that do not run. A stream leaves them alone. */
  #settled = $derived.by(() => {
    const running = this.turn?.requestId;
    return groupTurns(running === undefined ? this.stored : this.stored.filter((message) => !isOfTurn(message, running)));
  });
  shown = $derived.by(() => {
    const turn = this.turn;
    if (!turn) return this.#settled;
    const own = this.stored.filter((message) => isOfTurn(message, turn.requestId));
    return [...this.#settled, ...groupTurns(withRunning(own, turn.requestId, turn.messages))];
  });
  isRunning = $derived(this.turn !== null && this.turn.end === null);

  constructor(context: string | null, name: string | null, begunBy: string | null) {
    this.context = context;
    this.#begunBy = begunBy;
    this.#name = name;
    if (context === null) this.state = "empty";
  }

  async refresh(): Promise<void> {
    if (this.context === null) return;
    try {
      const chat = await readChat(this.context, this.#stop.signal);
      await this.#read();
      this.chat = chat;
      this.error = null;
      this.state = "ready";
      const running = this.#begunBy ?? (await this.#runningRequest(chat));
      this.#begunBy = null;
      if (running !== null) this.follow(running);
    } catch (cause) {
      if (!this.#stop.signal.aborted) this.#fail(cause);
    }
  }

  async older(): Promise<void> {
    if (this.context === null || this.next === null) return;
    const before = this.next;
    const page = await readMessagesBefore(this.context, before, this.isWithReplaced);
    if (this.next !== before) return;
    this.stored = [...page.items, ...this.stored];
    this.next = page.next;
  }

  async showReplaced(value: boolean): Promise<void> {
    this.isWithReplaced = value;
    this.stored = [];
    await this.#read().catch((cause: unknown) => this.#fail(cause));
  }

  /** Reads again soon after an event of this chat. */
  noticeEvent(event: FeedEvent): void {
    if (this.context === null || !this.#concerns(event) || this.#notice !== undefined) return;
    this.#notice = setTimeout(() => {
      this.#notice = undefined;
      void this.refresh();
    }, NOTICE);
  }

  /** Shows a turn from its start; after the one that is shown already. */
  follow(requestId: string): void {
    if (this.turn?.requestId === requestId || this.#finished.has(requestId)) return;
    this.#following = this.#following.then(() => this.#run(requestId));
  }

  /** Starts a turn; a refusal is thrown, and nothing of the input is kept here. The answer is the chat that this began. */
  async send(choices: TurnChoices, input: TurnInput | null, supersede: string | null = null): Promise<BegunChat | null> {
    const kind = this.isRunning && choices.on_busy === "queue" ? "queued" : "sending";
    const waiting = input && this.#wait(kind, input);
    const place = { context: this.context, name: this.#nameFor(choices) };
    try {
      const started = await startTurn(place, choices, input, supersede, this.#stop.signal);
      if (waiting) this.#settle(waiting, started.requestId);
      if (this.context === null && !choices.isTemporary) {
        return { chat: await findChat(started.chat, choices.agent), requestId: started.requestId };
      }
      this.follow(started.requestId);
      return null;
    } catch (cause) {
      if (waiting) this.#forget(waiting);
      throw cause;
    }
  }

  /** Gives the running turn further messages: at its next safe point, or at once with the answer begun again. */
  async append(type: "graceful" | "force", input: TurnInput): Promise<void> {
    const turn = this.turn;
    if (!turn?.contextId) throw new ApiError(409, "too_late", "no turn runs");
    const waiting = this.#wait("appended", input);
    try {
      const path = `/chat/completions/${encodeURIComponent(turn.contextId)}/append`;
      await api.post(path, { type, messages: [{ role: "user", content: contentOf(input) }] });
      this.#settle(waiting, turn.requestId);
    } catch (cause) {
      this.#forget(waiting);
      throw cause;
    }
  }

  stop(): void {
    clearTimeout(this.#notice);
    this.#stop.abort();
    this.turn?.stop();
  }

  #concerns({ name, data }: FeedEvent): boolean {
    if (name === "missed") return true;
    const identity = data.identity as { chat_name?: string | null; user_id?: string | null } | undefined;
    const isHere = (identity?.chat_name ?? "") === this.chat?.chat_id && (!identity?.user_id || identity.user_id === this.chat.user_id || !this.chat.user_id);
    return isHere && ["ConversationStarted", "ConversationEnded", "MessageAdded", "ContextCleared", "ContextRemoved"].includes(name);
  }

  async #run(requestId: string): Promise<void> {
    if (this.#stop.signal.aborted || this.#finished.has(requestId)) return;
    const turn = new RunningTurn(requestId);
    this.turn = turn;
    this.facts.set(requestId, turn.facts);
    this.state = "ready";
    // A turn that cannot be followed any more is read from what is stored.
    await turn.run(() => void this.#read().catch(() => {})).catch(() => {});
    if (this.#stop.signal.aborted) return;
    this.#finished.add(requestId);
    await this.#end(turn).catch((cause: unknown) => this.#fail(cause));
  }

  async #end(turn: RunningTurn): Promise<void> {
    if (this.context === null) this.stored = withRunning(this.stored, turn.requestId, turn.messages);
    else await this.#read();
    this.turn = null;
    this.waiting = this.waiting.filter((input) => input.requestId !== turn.requestId);
  }

  /** Reads the last messages, or again those that are shown and all behind them. */
  async #read(): Promise<void> {
    if (this.context === null) return;
    this.#reads += 1;
    const read = this.#reads;
    const found = this.stored.length === 0 ? await this.#readLast(this.context) : await this.#readAgain(this.context);
    if (read !== this.#reads) return;
    this.stored = found.items;
    this.next = found.next;
    this.#dropStored();
  }

  #readLast(context: string): Promise<MessagePage> {
    return readMessagesBefore(context, null, this.isWithReplaced);
  }

  /** Old messages do not change, unless a turn has taken their place: then the one where reading begins is gone. */
  async #readAgain(context: string): Promise<MessagePage> {
    const { stored, next } = this;
    const at = Math.max(0, stored.length - AGAIN);
    const anchor = stored[at];
    const behind = await readMessagesAfter(context, (anchor?.sequence ?? 1) - 1, this.isWithReplaced);
    if (at === 0 || behind[0]?.id === anchor?.id) return { items: [...stored.slice(0, at), ...behind], next };
    return { items: await readMessagesAfter(context, (stored[0]?.sequence ?? 1) - 1, this.isWithReplaced), next };
  }

  #dropStored(): void {
    const texts = new Set(this.stored.filter((row) => row.role === "user").map((row) => `${row.request_id} ${JSON.stringify(row.props.content)}`));
    this.waiting = this.waiting.filter((input) => !texts.has(`${input.requestId} ${JSON.stringify(input.content)}`));
  }

  async #runningRequest(chat: Chat): Promise<string | null> {
    if (chat.running !== undefined) return chat.running;
    const last = this.stored.at(-1)?.request_id;
    if (!last || this.#finished.has(last)) return null;
    const path = `/chat/requests/${encodeURIComponent(last)}`;
    const turn = await api.get<{ status: string }>(path).catch(() => null);
    return turn?.status === "running" ? last : null;
  }

  #nameFor(choices: TurnChoices): string | null {
    if (choices.isTemporary && !this.#name?.startsWith("_temp")) this.#name = `_temp_${randomKey()}`;
    return this.#name;
  }

  #wait(kind: WaitingInput["kind"], input: TurnInput): WaitingInput {
    const waiting: WaitingInput = { key: randomKey(), kind, content: contentOf(input), requestId: null };
    this.waiting = [...this.waiting, waiting];
    if (this.state === "empty") this.state = "ready";
    return waiting;
  }

  #forget(waiting: WaitingInput): void {
    this.waiting = this.waiting.filter((input) => input.key !== waiting.key);
    if (this.context === null && this.stored.length === 0 && this.waiting.length === 0) this.state = "empty";
  }

  /** The server has it; in a temporary chat, which stores nothing that can be read, it stays as it was sent. */
  #settle(waiting: WaitingInput, requestId: string): void {
    const settled = { ...waiting, requestId };
    this.waiting = this.waiting.map((input) => (input.key === waiting.key ? settled : input));
    if (this.context === null) this.stored = [...this.stored, localMessage(settled, requestId)];
    this.#dropStored();
  }

  #fail(cause: unknown): void {
    const error = cause instanceof ApiError ? cause : new ApiError(0, "internal", String(cause));
    const isFinal = [403, 404, 410].includes(error.status);
    // What is shown stays: the next event reads again.
    if (this.state === "ready" && this.stored.length > 0 && !isFinal) return;
    this.error = error;
    if (error.status === 403) this.state = "denied";
    else this.state = isFinal ? "gone" : "error";
  }
}

function localMessage({ key, content }: WaitingInput, requestId: string): ChatMessage {
  return {
    id: `${requestId}.${key}`, request_id: requestId, message_id: key, role: "user", assistant_id: "", type: "user_input",
    props: { content, role: "user" }, sequence: null, status: "completed", amended: false, created_at: Date.now(), superseded_by: null,
  };
}
