// Events of a stream as lines of a list, whatever its format is.

import type { SseEvent } from "../../sse-parser";

export interface EventLine {
  /** The number in the stream, on the last line that an entry makes. */
  number: string | null;
  name: string;
  /** Milliseconds since 1970. */
  at: number | null;
  /** The stream does not say when it was; this is when it came here. */
  isReceived: boolean;
  text: string;
}

/** The formats of streams (wire.md §7). */
export const FORMATS = ["cui-web", "cui-native", "cui-desktop", "standard", "ai-sdk", "ag-ui", "messages", "responses"] as const;

export function isFormat(name: string): boolean {
  return (FORMATS as readonly string[]).includes(name);
}

export function eventLine({ id, name, data }: SseEvent, before: string | null, received: number): EventLine {
  const parsed = parse(data);
  const at = timestamp(parsed);
  return { number: id === before ? null : id, name: lineName(name, parsed), at: at ?? received, isReceived: at === null, text: data };
}

/** The name of the event, else what its data says it is. */
function lineName(name: string, data: Record<string, unknown>): string {
  if (name !== "message") return name;
  const props = inner(data.props);
  if (data.type === "event" && typeof props.event === "string") return props.event;
  if (typeof data.type === "string") return data.delta === true ? `${data.type} ·` : data.type;
  return typeof data.object === "string" ? data.object : name;
}

function timestamp(data: Record<string, unknown>): number | null {
  const found = inner(inner(data.props).data).timestamp ?? data.timestamp;
  return typeof found === "number" ? found : null;
}

/** The text of a line as a value; one that is no JSON stays a text. */
export function lineValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function parse(text: string): Record<string, unknown> {
  return inner(lineValue(text));
}

function inner(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
