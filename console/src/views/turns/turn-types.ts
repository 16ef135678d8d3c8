// What the routes of turns answer (console.md §5, wire.md §9).

/** Tokens of calls, by the names that providers share. */
export interface TokenUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
}

export interface ActedBy {
  user_id: string | null;
  client_id: string | null;
}

export interface TurnError {
  message: string;
  code: string;
  /** In development mode: the lines of the script's stack. */
  stack?: string[];
}

/** What is known of a turn once it has ended. */
interface TurnTotals {
  ttft_ms?: number | null;
  calls?: number | null;
  tools?: number | null;
  usage?: TokenUsage | null;
  cost?: Record<string, number>;
}

/** A row of the list of turns. */
export interface TurnRow extends TurnTotals {
  request_id: string;
  trace_id: string;
  chat_id: string;
  /** The id of the index row of the conversation's history. */
  context: string;
  assistant_id: string;
  user_id: string | null;
  status: string;
  started_at: number;
  ended_at: number | null;
  duration_ms: number | null;
  error: TurnError | null;
  acted_by: ActedBy | null;
}

/** One turn, as `GET /chat/requests/:request_id` has it. */
export interface TurnInfo extends TurnTotals {
  request_id: string;
  /** The run context, which takes further messages. */
  context_id: string;
  chat_id: string;
  /** The conversation, by the row of its history. */
  context?: string;
  assistant_id: string;
  user_id?: string | null;
  status: string;
  last_event: number;
  started_at: number;
  ended_at: number | null;
  error: TurnError | null;
  acted_by?: ActedBy | null;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A line of a node's log. Of a brief event `data` is left out. */
export interface TraceLog {
  node_id: string;
  level: LogLevel;
  message: string;
  data: unknown;
  at: number;
}

/** A node as the server has it. */
export interface TraceNode {
  id: string;
  parent_ids: string[];
  label: string;
  type: string;
  icon: string;
  description: string;
  metadata: Record<string, unknown>;
  status: string;
  input: unknown;
  output: unknown;
  error: string | null;
  start_at: number;
  end_at: number | null;
  /** What the runtime knows of its own steps. */
  facts?: Record<string, unknown> | null;
}

/** A labelled board of values beside a trace. */
export interface TraceSpace {
  id: string;
  label: string;
  type: string;
  icon: string;
  description: string;
  metadata: Record<string, unknown>;
  values: Record<string, unknown>;
  created_at: number;
}

/** Lists of a trace's parts. */
export interface NumberedPage<T> {
  data: T[];
  total: number;
  /** The number of the next page, or -1. */
  next: number;
}

/** One event of a trace, as far as the tree needs it. */
export interface TraceEvent {
  type: string;
  id?: string;
  node?: TraceNode;
  space?: TraceSpace;
  status?: string;
  error?: string;
  metadata?: Record<string, unknown>;
  facts?: Record<string, unknown>;
  at?: number;
  /** What a brief event leaves out: `input`, `metadata.memory` … */
  left_out?: string[];
}
