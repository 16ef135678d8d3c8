// Folds the frames of a `cui-web` stream to messages (wire.md §4): what one holds at the end equals what is stored.

import type { Frame, Message } from "./wire";

export interface FoldedMessage extends Message {
  message_id: string;
  status: "running" | "completed" | "partial" | "error";
  /** Changed after it had ended. */
  amended: boolean;
}

export interface StreamState {
  messages: FoldedMessage[];
  /** The data of `stream_start` and `stream_end`. */
  start: Record<string, unknown> | null;
  end: Record<string, unknown> | null;
  /** Every event in its order, for who shows blocks, threads and interrupts. */
  events: { event: string; data: Record<string, unknown> }[];
}

export class Fold {
  readonly state: StreamState = { messages: [], start: null, end: null, events: [] };
  readonly #byId = new Map<string, FoldedMessage>();

  apply(frame: Frame): void {
    if (frame.type === "event" && frame.chunk_id === undefined) this.#event(frame.props);
    else if (frame.message_id !== undefined) this.#message(frame, frame.message_id);
  }

  #event(props: Record<string, unknown>): void {
    const event = String(props.event);
    const data = isObject(props.data) ? props.data : {};
    this.state.events.push({ event, data });
    if (event === "stream_start") this.state.start = data;
    else if (event === "stream_end") this.state.end = data;
    else if (event === "message_start") this.#start(data);
    else if (event === "message_end") this.#end(data);
  }

  #start(data: Record<string, unknown>): void {
    const message = this.#find(String(data.message_id), String(data.type));
    message.status = "running";
    if (data.amend === true) message.amended = true;
    for (const name of ["block_id", "thread_id"] as const) {
      if (typeof data[name] === "string") message[name] = data[name];
    }
  }

  #end(data: Record<string, unknown>): void {
    const message = this.#byId.get(String(data.message_id));
    if (!message) return;
    const status = data.status;
    message.status = status === "partial" || status === "error" ? status : "completed";
  }

  #message(frame: Frame, id: string): void {
    const message = this.#find(id, frame.type);
    if (frame.block_id !== undefined) message.block_id = frame.block_id;
    if (frame.thread_id !== undefined) message.thread_id = frame.thread_id;
    if (frame.metadata !== undefined) message.metadata = frame.metadata;
    if (frame.delta !== true || frame.type_change === true) message.type = frame.type;
    message.props = frame.delta === true ? changeProps(message.props, frame) : frame.props;
  }

  #find(id: string, type: string): FoldedMessage {
    const known = this.#byId.get(id);
    if (known) return known;
    const made: FoldedMessage = { message_id: id, type, props: {}, status: "running", amended: false };
    this.#byId.set(id, made);
    this.state.messages.push(made);
    return made;
  }
}

type Json = Record<string, unknown>;

/** The props after one delta; the ones given are left as they are. */
export function changeProps(props: Json, frame: Frame): Json {
  const action = frame.delta_action ?? "append";
  const isAppend = action === "append";
  const path = splitPath(frame.delta_path ?? (isAppend ? "content" : ""));
  const value = path.reduce<unknown>(child, frame.props);
  if (path.length === 0) return action === "merge" ? (merge(props, value) as Json) : frame.props;
  return update(props, path, (old) => {
    if (isAppend) return append(old, value);
    return action === "merge" ? merge(old, value) : value;
  }) as Json;
}

/** Segments between dots; `\.` is a dot inside one. */
export function splitPath(path: string): string[] {
  if (path === "") return [];
  return (path.match(/(?:\\.|[^.\\])+/g) ?? []).map((segment) => segment.replace(/\\(.)/g, "$1"));
}

function child(value: unknown, segment: string): unknown {
  return isObject(value) || Array.isArray(value) ? (value as Json)[segment] : undefined;
}

function update(value: unknown, path: string[], change: (old: unknown) => unknown): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return change(value);
  const next = update(child(value, segment), rest, change);
  if (Array.isArray(value)) return value.toSpliced(Number(segment), 1, next);
  // A computed key defines a property of its own, whatever its name is.
  return { ...(isObject(value) ? value : {}), [segment]: next };
}

function append(old: unknown, value: unknown): unknown {
  if (Array.isArray(old)) return [...old, ...(Array.isArray(value) ? value : [value])];
  if (Array.isArray(value) && old === undefined) return value;
  return (typeof old === "string" ? old : "") + String(value ?? "");
}

function merge(old: unknown, value: unknown): unknown {
  if (!isObject(old) || !isObject(value)) return value;
  const merged = Object.entries(value).map(([name, part]) => [name, merge(child(old, name), part)] as const);
  return { ...old, ...Object.fromEntries(merged) };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
