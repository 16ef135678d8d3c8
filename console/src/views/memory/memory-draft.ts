// What is written and not saved yet: it survives a reload and the login page, and ends with the tab.

import { placeId, type MemoryPlace } from "./memory-place";

export interface Draft {
  text: string;
  /** The version that was changed. */
  version: number | null;
}

const name = (place: MemoryPlace, key: string | null) =>
  `ambit.draft.memory.${JSON.stringify([placeId(place.space, place.owner), place.context, key])}`;

/** The draft of a key; null names that of a new key. */
export function readDraft(place: MemoryPlace, key: string | null): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(name(place, key)) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export function keepDraft(place: MemoryPlace, key: string | null, draft: Draft | null): void {
  if (draft === null) return sessionStorage.removeItem(name(place, key));
  try {
    sessionStorage.setItem(name(place, key), JSON.stringify(draft));
  } catch {
    // It is too large for the browser's storage: it lives in the page alone.
  }
}
