// Two calls of models side by side: which blocks are the same, changed, added or gone (console.md §4.5).

import type { ManifestBlock } from "./call-types";

export interface BlockPair {
  change: "same" | "changed" | "added" | "gone";
  /** Of the call that is looked at. */
  now: ManifestBlock | null;
  /** Of the one beside it. */
  before: ManifestBlock | null;
}

/** Pairs blocks of one hash, then those of one source; both keep the order of their calls. */
export function pairBlocks(before: readonly ManifestBlock[], now: readonly ManifestBlock[]): BlockPair[] {
  const byHash = commonSubsequence(before, now, (one, other) => one.hash === other.hash);
  const pairs: BlockPair[] = [];
  let [from, to] = [0, 0];
  for (const [one, other] of [...byHash, [before.length, now.length] as const]) {
    pairs.push(...pairBySource(before.slice(from, one), now.slice(to, other)));
    const [old, present] = [before[one], now[other]];
    if (old && present) pairs.push({ change: "same", now: present, before: old });
    [from, to] = [one + 1, other + 1];
  }
  return pairs;
}

/** Those between two that are the same. */
function pairBySource(before: readonly ManifestBlock[], now: readonly ManifestBlock[]): BlockPair[] {
  const matched = commonSubsequence(before, now, (one, other) => sourceKey(one) === sourceKey(other));
  const pairs: BlockPair[] = [];
  let [from, to] = [0, 0];
  for (const [one, other] of [...matched, [before.length, now.length] as const]) {
    pairs.push(...before.slice(from, one).map((block): BlockPair => ({ change: "gone", now: null, before: block })));
    pairs.push(...now.slice(to, other).map((block): BlockPair => ({ change: "added", now: block, before: null })));
    const [old, present] = [before[one], now[other]];
    if (old && present) pairs.push({ change: "changed", now: present, before: old });
    [from, to] = [one + 1, other + 1];
  }
  return pairs;
}

/** The kind and the source without what changes with the content. */
function sourceKey(block: ManifestBlock): string {
  const entries = Object.entries(block.source ?? {}).filter(([name]) => name !== "version" && name !== "node_id");
  return JSON.stringify([block.kind, entries.sort(([one], [other]) => (one < other ? -1 : 1))]);
}

/** The longest common subsequence, as pairs of places. Equal ends are taken first, as calls of one turn share them. */
function commonSubsequence<T>(before: readonly T[], now: readonly T[], isSame: (one: T, other: T) => boolean): [number, number][] {
  const same = (one: number, other: number) => {
    const [old, present] = [before[one], now[other]];
    return old !== undefined && present !== undefined && isSame(old, present);
  };
  let start = 0;
  while (same(start, start)) start += 1;
  const pairs = Array.from({ length: start }, (_, index): [number, number] => [index, index]);
  const [rows, columns] = [before.length - start, now.length - start];
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  const length = (row: number, column: number) => lengths[row]?.[column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const line = lengths[row];
      if (!line) continue;
      const isPair = same(start + row, start + column);
      line[column] = isPair ? length(row + 1, column + 1) + 1 : Math.max(length(row + 1, column), length(row, column + 1));
    }
  }
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (same(start + row, start + column)) {
      pairs.push([start + row, start + column]);
      [row, column] = [row + 1, column + 1];
    } else if (length(row + 1, column) >= length(row, column + 1)) row += 1;
    else column += 1;
  }
  return pairs;
}

/** Texts beyond this many characters are not compared by lines. */
export const MOST_DIFF = 256 * 1024;

/** What a block says as text: a message's text, else JSON. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  const inner = typeof content === "object" && content !== null ? (content as { content?: unknown }).content : undefined;
  if (typeof inner === "string" && Object.keys(content as object).every((name) => name === "role" || name === "content")) return inner;
  return JSON.stringify(content, null, 2) ?? "";
}
