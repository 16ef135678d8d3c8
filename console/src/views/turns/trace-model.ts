// A trace as it stands after its events: the tree of its nodes, the lines of its log, and how often its boards changed.

import { LOG_LEVELS, type TokenUsage, type TraceEvent, type TraceLog, type TraceNode } from "./turn-types";

/** A node of the tree. */
export interface TreeNode {
  id: string;
  /** All that it follows; the first one is where it hangs. */
  parents: string[];
  label: string;
  type: string;
  status: string;
  startAt: number;
  endAt: number | null;
  error: string | null;
  metadata: Record<string, unknown>;
  facts: Record<string, unknown>;
  /** What the events leave out of it. */
  leftOut: Set<string>;
  /** Those whose first parent it is, in the order in which they began. */
  children: TreeNode[];
}

export class TraceModel {
  /** Nodes without a parent that is known. */
  readonly roots: TreeNode[] = [];
  /** All nodes, in the order in which they began. */
  readonly nodes: TreeNode[] = [];
  readonly logs: TraceLog[] = [];
  /** How often a board or a value on one changed. */
  spaceChanges = 0;
  /** How often a call of a model began or ended. */
  callChanges = 0;
  /** How the trace ended. */
  status: string | null = null;
  #startAt = Number.POSITIVE_INFINITY;
  #endAt = 0;
  readonly #byId = new Map<string, TreeNode>();

  find(id: string): TreeNode | undefined {
    return this.#byId.get(id);
  }

  /** From the first beginning to the last thing that is known, in milliseconds since 1970. */
  get span(): { from: number; to: number } {
    return this.nodes.length === 0 ? { from: 0, to: 0 } : { from: this.#startAt, to: Math.max(this.#endAt, this.#startAt) };
  }

  apply(event: TraceEvent): void {
    this.#see(event.at);
    switch (event.type) {
      case "node_start":
        if (event.node) this.#start(event.node, event.left_out ?? []);
        break;
      case "node_complete":
        this.#end(event, event.status ?? "completed");
        break;
      case "node_failed":
        this.#end(event, "failed");
        break;
      case "node_updated":
        this.#update(event);
        break;
      case "log_added":
        this.logs.push(event as unknown as TraceLog);
        break;
      case "complete":
        this.status = event.status ?? "completed";
        break;
      case "call":
      case "call_end":
        this.callChanges += 1;
        break;
      default:
        if (/^(space|memory)_/.test(event.type)) this.spaceChanges += 1;
    }
  }

  #see(at: number | null | undefined): void {
    if (at != null && at > this.#endAt) this.#endAt = at;
  }

  #start(node: TraceNode, leftOut: string[]): void {
    if (this.#byId.has(node.id)) return;
    const made: TreeNode = {
      id: node.id,
      parents: node.parent_ids,
      label: node.label,
      type: node.type,
      status: node.status,
      startAt: node.start_at,
      endAt: node.end_at,
      error: node.error,
      metadata: node.metadata,
      facts: node.facts ?? {},
      leftOut: new Set(leftOut),
      children: [],
    };
    this.#byId.set(made.id, made);
    this.nodes.push(made);
    this.#startAt = Math.min(this.#startAt, made.startAt);
    this.#see(made.startAt);
    this.#see(made.endAt);
    const parent = this.#byId.get(made.parents[0] ?? "");
    (parent?.children ?? this.roots).push(made);
  }

  #end(event: TraceEvent, status: string): void {
    const node = this.#byId.get(event.id ?? "");
    if (!node) return;
    node.status = status;
    node.endAt = event.at ?? node.endAt;
    node.error = event.error ?? null;
    for (const name of event.left_out ?? []) node.leftOut.add(name);
  }

  #update(event: TraceEvent): void {
    const node = this.#byId.get(event.id ?? "");
    if (!node) return;
    node.metadata = { ...node.metadata, ...event.metadata };
    node.facts = event.facts ?? node.facts;
    for (const name of event.left_out ?? []) node.leftOut.add(name);
  }
}

/** Milliseconds that a node took; null while it runs. */
export function took(node: TreeNode): number | null {
  return node.endAt === null ? null : Math.max(node.endAt - node.startAt, 0);
}

/** Milliseconds until a model's first token. */
export function firstToken(node: Pick<TreeNode, "metadata" | "facts">): number | null {
  return numberOf(node.metadata.ttft_ms) ?? numberOf(node.facts.first_chunk_ms);
}

export function usage(node: Pick<TreeNode, "metadata" | "facts">): TokenUsage | null {
  const found = node.metadata.usage ?? node.facts.usage;
  return typeof found === "object" && found !== null ? (found as TokenUsage) : null;
}

/** The agents that worked, in the order of their first steps. */
export function agentChain(nodes: readonly TreeNode[]): string[] {
  const agents = nodes.filter((node) => node.type === "turn" || node.type === "agent").map((node) => node.label);
  return agents.filter((name, index) => name !== agents[index - 1]);
}

/** Whether a filter's value is a level of log lines, not a type of nodes. */
export function isLevel(value: string): boolean {
  return (LOG_LEVELS as readonly string[]).includes(value);
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
