// What the routes of knowledge answer, and their paths.

export interface Collection {
  collection_id: string;
  name: string;
  description: string;
  public: boolean;
  share: "private" | "team";
  source: "file" | "api";
  language: string;
  chunk: { size: number; overlap: number };
  embedding: { connector: string; model: string | null; dimension: number | null } | null;
  reindex: { job_id: string; done: number; total: number } | null;
  documents: number;
  chunks: number;
  bytes: number;
  failed: number;
  status: "ready" | "indexing";
  created_by: string | null;
}

export const DOCUMENT_STATES = ["queued", "extracting", "chunking", "embedding", "ready", "failed"] as const;

export interface KnowledgeDocument {
  document_id: string;
  name: string;
  title: string;
  type: string | null;
  bytes: number;
  status: (typeof DOCUMENT_STATES)[number];
  error: string | null;
  warnings: string[];
  done: number;
  total: number;
  chunks: number;
  pages: number | null;
  language: string | null;
  url: string | null;
  metadata: Record<string, unknown>;
  created_at: number;
  indexed_at: number | null;
}

export interface Chunk {
  id: string;
  index: number;
  text: string;
  heading: string[];
  page: number | null;
  range: [number, number];
  tokens: number;
  weight: number;
  positive: number;
  negative: number;
  hit: number;
}

/** Where an item came among those that words found, and those that vectors found. */
export interface Ranking {
  words?: { rank: number; bm25: number };
  vector?: { rank: number; cosine: number };
}

export interface FoundItem {
  document_id: string;
  chunk_id: string;
  title: string;
  content: string;
  heading: string[];
  page?: number;
  range: [number, number];
  score: number;
  metadata: Record<string, unknown> & { ranking?: Ranking };
}

export interface Found {
  items: FoundItem[];
  duration_ms: number;
  error?: string;
  notes?: string[];
}

export function collectionPath(id: string): string {
  return `/kb/collections/${encodeURIComponent(id)}`;
}

export function documentPath(id: string): string {
  return `/kb/documents/${encodeURIComponent(id)}`;
}

/** Nothing more happens to it by itself. */
export function isSettled({ status }: KnowledgeDocument): boolean {
  return status === "ready" || status === "failed";
}

export function isBusy({ status, reindex }: Collection): boolean {
  return status === "indexing" || reindex !== null;
}
