// The question of a search, as the filters of the URL say it.

import type { Filters } from "../../url";

/** Where nobody says: only texts whose meaning is as near as that are found by it. */
export const THRESHOLD = 0.7;

/** Null as long as there is no query. */
export function searchBody(collection: string, { q, document, limit, threshold, metadata }: Filters) {
  if (!q) return null;
  return {
    query: q,
    collections: [collection],
    ...(document && { document_id: document }),
    ...(limit && { limit: Number(limit) }),
    ...(threshold && { threshold: Number(threshold) }),
    // A URL may say anything: what is no object is left out.
    ...(metadata && metadataFault(metadata) === null && { metadata: JSON.parse(metadata) as unknown }),
  };
}

/** Why a filter on metadata is none; null if it is one, or empty. */
export function metadataFault(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? null : text;
  } catch (cause) {
    return cause instanceof SyntaxError ? cause.message : String(cause);
  }
}
