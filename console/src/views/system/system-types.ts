// What the routes of the system answer.

export interface SystemInfo {
  version: string;
  mode: string;
  node: string;
  started_at: number;
  app: { name: string; version: string; loaded_at: number; problems: number };
  stores: StoreInfo[];
  nodes: NodeInfo[];
  turns: { running: number; waiting: number };
}

export interface StoreInfo {
  name: string;
  kind: string;
  role: string;
  state: string;
  latency_ms: number;
  bytes: number | null;
  error: string | null;
}

export interface NodeInfo {
  id: string;
  version: string;
  started_at: number;
  seen_at: number;
  turns: number;
}

export interface Lease {
  request_id: string;
  /** A temporary conversation has no row. */
  context: string | null;
  assistant_id: string;
  /** Nothing where nobody runs it. */
  node: string | null;
  epoch: number | null;
  expires_at: number | null;
  /** How many turns wait for its conversation. */
  waiting: number;
}

export interface FileProblem {
  severity: string;
  file: string;
  line: number | null;
  column: number | null;
  message: string;
}

export interface AppProblems {
  loaded_at: number;
  problems: FileProblem[];
  refused: { at: number; problems: FileProblem[] } | null;
}

export interface Finding {
  place: string;
  what: string;
  mended: boolean;
}

export interface DoctorOutcome {
  rows: number;
  left: number;
  mended: number;
  swept: number;
}
