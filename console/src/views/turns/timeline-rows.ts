// The rows of a timeline: the tree laid out, with what is closed, filtered away or folded left out.

import { took, type TraceModel, type TreeNode } from "./trace-model";

/** A row for one node. */
export interface NodeRow {
  kind: "node";
  id: string;
  level: number;
  node: TreeNode;
  isOpen: boolean;
  /** Shown for what is below it: it does not match the filters itself. */
  isContext: boolean;
}

/** A row for siblings that are alike. */
export interface FoldRow {
  kind: "fold";
  id: string;
  level: number;
  nodes: TreeNode[];
  isOpen: boolean;
}

export type TimelineRow = NodeRow | FoldRow;

export interface TimelineFilter {
  type: string;
  status: string;
  /** What label, type or error contain, whatever the case. */
  text: string;
}

export interface TimelineOptions {
  filter: TimelineFilter;
  /** Five or more siblings that are alike are one row. */
  isFolded: boolean;
  /** Rows, by their ids, that somebody closed. */
  closed: ReadonlySet<string>;
  /** Folds that somebody opened. */
  opened: ReadonlySet<string> | "all";
  /** A node that has to be seen. */
  shown: string | null;
}

/** So many siblings that are alike are one row. */
export const FOLD_FROM = 5;

/** What of a trace the rows are made from. */
export type Tree = Pick<TraceModel, "roots" | "nodes" | "find">;

interface Step {
  node: TreeNode;
  level: number;
}

/** Trees may be as deep as they have nodes, so nothing here calls itself. */
export function timelineRows(tree: Tree, options: TimelineOptions): TimelineRow[] {
  const { filter, closed, opened } = options;
  const matching = filter.type || filter.status || filter.text ? matches(tree, filter) : null;
  const path = options.shown === null ? new Set<string>() : pathTo(tree, options.shown);
  const rows: TimelineRow[] = [];
  const waiting: (Step | FoldRow)[] = [];

  const add = (siblings: readonly TreeNode[], level: number): void => {
    const visible = matching ? siblings.filter((node) => matching.has(node)) : siblings;
    if (!options.isFolded || visible.length < FOLD_FROM) {
      for (let at = visible.length - 1; at >= 0; at -= 1) waiting.push({ node: visible[at] as TreeNode, level });
      return;
    }
    const steps: (Step | FoldRow)[] = [];
    for (const alike of runs(visible)) {
      const isFold = alike.length >= FOLD_FROM;
      const id = `fold-${alike[0]?.id}`;
      const isOpen = !isFold || (!closed.has(id) && (opened === "all" || opened.has(id) || alike.some((node) => path.has(node.id))));
      if (isFold) steps.push({ kind: "fold", id, level, nodes: alike, isOpen });
      if (isOpen) for (const node of alike) steps.push({ node, level: isFold ? level + 1 : level });
    }
    for (const step of steps.reverse()) waiting.push(step);
  };

  add(tree.roots, 1);
  for (let step = waiting.pop(); step; step = waiting.pop()) {
    if ("kind" in step) {
      rows.push(step);
      continue;
    }
    const { node, level } = step;
    const isOpen = !closed.has(node.id);
    rows.push({ kind: "node", id: node.id, level, node, isOpen, isContext: matching?.get(node) === false });
    if (isOpen) add(node.children, level + 1);
  }
  return rows;
}

/** Siblings, those that follow each other and are alike together. */
function runs(siblings: readonly TreeNode[]): TreeNode[][] {
  const found: TreeNode[][] = [];
  for (const node of siblings) {
    const last = found.at(-1);
    const before = last?.[0];
    if (last && before && before.type === node.type && before.label === node.label) last.push(node);
    else found.push([node]);
  }
  return found;
}

/** The nodes that match, and with `false` those above them. */
function matches(tree: Tree, filter: TimelineFilter): Map<TreeNode, boolean> {
  const found = new Map<TreeNode, boolean>();
  const text = filter.text.toLowerCase();
  const isMatch = (node: TreeNode) =>
    (!filter.type || node.type === filter.type) &&
    (!filter.status || node.status === filter.status) &&
    (!text || [node.label, node.type, node.error ?? ""].some((part) => part.toLowerCase().includes(text)));
  // Parents begin before their children.
  for (const node of tree.nodes.toReversed()) {
    const matchesItself = isMatch(node);
    if (!matchesItself && !found.has(node)) continue;
    found.set(node, matchesItself);
    const parent = tree.find(node.parents[0] ?? "");
    if (parent) found.set(parent, false);
  }
  return found;
}

/** The node and all that it hangs below. */
function pathTo(tree: Tree, id: string): Set<string> {
  const path = new Set<string>();
  for (let node = tree.find(id); node && !path.has(node.id); node = tree.find(node.parents[0] ?? "")) path.add(node.id);
  return path;
}

/** From the root always the child that ended last; one that still runs ends after all others. */
export function criticalPath(roots: readonly TreeNode[]): Set<string> {
  const path = new Set<string>();
  const end = (node: TreeNode) => node.endAt ?? Number.POSITIVE_INFINITY;
  let level = roots;
  while (level.length > 0) {
    const last = level.reduce((latest, node) => (end(node) >= end(latest) ? node : latest));
    path.add(last.id);
    level = last.children;
  }
  return path;
}

export interface FoldSummary {
  count: number;
  /** Of those that have ended; null if none has. */
  median: number | null;
  longest: number | null;
  failed: number;
  running: number;
}

export function summarize(nodes: readonly TreeNode[]): FoldSummary {
  const times = nodes
    .map(took)
    .filter((time) => time !== null)
    .sort((one, other) => one - other);
  const middle = times.length >> 1;
  const upper = times[middle] ?? null;
  const lower = times[middle - 1] ?? upper;
  return {
    count: nodes.length,
    median: upper === null || lower === null ? null : times.length % 2 === 1 ? upper : (lower + upper) / 2,
    longest: times.at(-1) ?? null,
    failed: nodes.filter((node) => node.status === "failed").length,
    running: nodes.filter((node) => node.status === "running").length,
  };
}
