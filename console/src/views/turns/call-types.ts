// The manifest of a model's call and what belongs to it (console.md §4).

import type { TokenUsage } from "./turn-types";

/** A call of a turn, in one line. */
export interface CallRow {
  call_id: string;
  node_id: string;
  index: number;
  agent: string;
  connector: string;
  model: string;
  status: string;
  at: number;
  duration_ms: number | null;
  tokens: CallTokens | null;
  usage: TokenUsage | null;
}

export interface CallTokens {
  estimated: number;
  window?: number | null;
  reserve?: number | null;
}

/** Where a block comes from; which fields there are depends on its kind. */
export type BlockSource = Record<string, unknown>;

export interface BlockCut {
  reason: string;
  part?: number | string | null;
  bytes?: number;
}

export interface ManifestBlock {
  n: number;
  role: string;
  kind: string;
  source: BlockSource | null;
  via?: string | null;
  bytes: number;
  tokens: number;
  hash: string;
  cut?: BlockCut[];
  /** How many messages it stands for, where that is more than one. */
  count?: number | null;
}

export interface ManifestTool {
  n: number;
  name: string;
  server?: string | null;
  tool?: string | null;
  bytes: number;
  tokens: number;
  hash: string;
}

export interface LeftOut {
  kind: string;
  reason: string;
  count?: number | null;
  first?: string | null;
  last?: string | null;
  tokens?: number | null;
}

export interface LayeredValue {
  value: unknown;
  layer?: string;
  /** What was overruled, by its layer. */
  over?: Record<string, unknown>;
}

export interface Manifest {
  call_id: string;
  request_id: string;
  trace_id: string;
  node_id: string;
  index: number;
  agent: string;
  thread_id: string | null;
  at: number;
  connector: string;
  provider: string;
  model: string;
  status: string;
  finish_reason: string | null;
  ttft_ms: number | null;
  duration_ms: number | null;
  attempts: { at?: number; error: string | null }[];
  tokens: CallTokens;
  usage: TokenUsage | null;
  cost?: Record<string, number>;
  settings?: Record<string, LayeredValue>;
  options?: Record<string, LayeredValue>;
  blocks: ManifestBlock[];
  tools: ManifestTool[];
  dropped?: LeftOut[];
  reads?: { node_id: string; space: string; key: string }[];
  body: { bytes: number; sha256: string; encoder: string } | null;
}

/** What a block or a tool says, or why that is gone. */
export interface Content {
  hash: string;
  content?: unknown;
  gone?: string;
}

/** The body rendered from the manifest. */
export interface RenderedRequest {
  body: unknown;
  sha256: string;
  exact: boolean;
  reason: string | null;
  /** The blocks and the tools of which the contents are gone. */
  missing: number[];
  missing_tools: number[];
  places: { block?: number; tool?: number; at: string[] }[];
  /** Members of the body that are not shown. */
  hidden: string[];
}
