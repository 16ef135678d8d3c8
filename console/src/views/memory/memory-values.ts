// Keys and values of a memory: what the routes answer, and the writes, which name the version that was seen.

import { ApiError } from "../../api-error";
import { api, send } from "../../api";
import { bodyWithValue, formatExact, parseExact } from "./exact-json";
import { listPath, placeQuery, type MemoryPlace } from "./memory-place";

export type Version = number;

export interface MemoryKey {
  key: string;
  type: string;
  bytes: number;
  expires_at: number | null;
  version: Version;
}

export interface MemoryValue {
  /** The value as JSON, indented. */
  text: string;
  value: unknown;
  type: string;
  bytes: number;
  expires_at: number | null;
  version: Version;
}

/** How long a value lives from now on: as it did, without an end, or a time such as `2h`. */
export type TtlChoice = { is: "keep" } | { is: "none" } | { is: "set"; ttl: string };

export function keyPath(place: MemoryPlace, key: string): string {
  return `${listPath(place)}/keys/${encodeURIComponent(key)}`;
}

export async function readValue(place: MemoryPlace, key: string, signal?: AbortSignal): Promise<MemoryValue> {
  const answer = await send("GET", keyPath(place, key), { query: placeQuery(place), ...(signal && { signal }) });
  const body = await answer.text();
  const read = JSON.parse(body) as Omit<MemoryValue, "text">;
  const { value } = parseExact(body) as { value: unknown };
  return { ...read, text: formatExact(value) };
}

/** As `readValue`; null if there is no such key. */
export async function findValue(place: MemoryPlace, key: string): Promise<MemoryValue | null> {
  try {
    return await readValue(place, key);
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return null;
    throw cause;
  }
}

/** Writes a value if its key still has the version `expect`, or with null if there is none. */
export async function writeValue(place: MemoryPlace, key: string, text: string, expect: Version | null, ttl: TtlChoice): Promise<void> {
  const body = bodyWithValue(text, { expect, ttl: { keep: "keep", none: 0, set: ttl.is === "set" ? ttl.ttl : null }[ttl.is] });
  await send("PUT", keyPath(place, key), { query: placeQuery(place), body });
}

export async function deleteValue(place: MemoryPlace, key: string, expect: Version): Promise<void> {
  await api.delete(keyPath(place, key), { query: { ...placeQuery(place), expect } });
}

/** Whether somebody else has written meanwhile. */
export function isConflict(cause: unknown): boolean {
  return cause instanceof ApiError && cause.status === 409 && cause.code === "conflict";
}
