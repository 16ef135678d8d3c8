// Where a block of a call comes from, in words and as a link.

import { formatHash, type Filters } from "../../url";
import type { ManifestBlock } from "./call-types";

export interface SourceLink {
  text: string;
  href: string | null;
  /** Whether the link leads to the message itself. */
  isMessage: boolean;
}

export interface LinkPlaces {
  requestId: string;
  agent: string;
  /** The row of the conversation's history, if it is known. */
  context: string | null;
  listFilters: Filters;
  /** Whether the files of agents may be read. */
  hasFiles: boolean;
}

export function sourceLink(block: ManifestBlock, places: LinkPlaces): SourceLink {
  const source = block.source ?? {};
  const text = (name: string) => (typeof source[name] === "string" || typeof source[name] === "number" ? String(source[name]) : null);
  const [file, message, node, call] = [text("file"), text("message_id"), text("node_id"), text("call_id")];
  const parts = Object.entries(source)
    .filter(([name, value]) => value !== null && !["version", "references"].includes(name))
    .map(([name, value]) => (["file", "message_id"].includes(name) ? String(value) : `${name} ${word(value)}`));
  const shown = parts.join(" · ") || "–";
  const link = (href: string | null, isMessage = false): SourceLink => ({ text: shown, href, isMessage });
  if (file !== null && places.hasFiles) return link(formatHash("agents", places.agent, { tab: "files", file }));
  if (message !== null && places.context !== null) return link(formatHash("chats", places.context, { at: message }), true);
  const turn = (filters: Filters) => link(formatHash("turns", places.requestId, { ...places.listFilters, ...filters }));
  if (node !== null) return turn({ node });
  if (call !== null) return turn({ tab: "calls", call });
  return link(null);
}

/** The references that a block has, by which answers cite them. */
export function referencesOf(block: ManifestBlock): string[] {
  const references = block.source?.references;
  return Array.isArray(references) ? references.map(String) : [];
}

function word(value: unknown): string {
  if (Array.isArray(value)) return value.map(word).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Tokens of a call by the kind of its blocks, the largest first; tools are a kind of their own. */
export function tokensByKind(blocks: readonly ManifestBlock[], tools: readonly { tokens: number }[]): { kind: string; tokens: number }[] {
  const sums = new Map<string, number>();
  const add = (kind: string, tokens: number) => sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  for (const block of blocks) add(block.kind, block.tokens);
  for (const tool of tools) add("tools", tool.tokens);
  return [...sums].map(([kind, tokens]) => ({ kind, tokens })).sort((one, other) => other.tokens - one.tokens);
}

/** An item of a body, by its JSON pointer. */
export interface BodyItem {
  pointer: string;
  value: unknown;
  isMarked: boolean;
}

/** The members of a body, lists item by item; marked is what stands at one of these pointers. */
export function bodyItems(body: unknown, marked: readonly string[]): BodyItem[] {
  if (typeof body !== "object" || body === null) return [{ pointer: "", value: body, isMarked: false }];
  const isMarked = (pointer: string) =>
    marked.some((at) => at === pointer || at.startsWith(`${pointer}/`) || pointer.startsWith(`${at}/`));
  const escaped = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");
  return Object.entries(body).flatMap(([name, value]: [string, unknown]): BodyItem[] => {
    const pointer = `/${escaped(name)}`;
    if (!Array.isArray(value) || value.length === 0) return [{ pointer, value, isMarked: isMarked(pointer) }];
    return value.map((item, index) => ({ pointer: `${pointer}/${index}`, value: item, isMarked: isMarked(`${pointer}/${index}`) }));
  });
}
