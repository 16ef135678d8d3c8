// What the routes of agents answer.

/** An agent as everybody sees it. */
export interface AgentCard {
  assistant_id: string;
  name: string;
  description: string;
  connector: string;
  modes: string[];
  default_mode: string;
  public: boolean;
  share: string;
  tags?: string[];
}

/** A page of them. */
export interface AgentPage {
  data: AgentCard[];
  /** The next page, or -1. */
  next: number;
}

export interface FileProblem {
  severity: string;
  file: string;
  line: number | null;
  column: number | null;
  message: string;
}

export interface HookFunction {
  name: string;
  file: string;
  /** Nothing where only running the file tells. */
  line: number | null;
}

export interface AgentFile {
  path: string;
  bytes: number;
  version: string;
}

/** An agent as operators see it; workers are among them. */
export interface AppAgent {
  assistant_id: string;
  type: string;
  settings: Record<string, { value: unknown; from: string }>;
  connector: { id: string; type: string; model: string; capabilities: string[] } | null;
  servers: string[];
  hooks: HookFunction[];
  files: AgentFile[];
  problems: FileProblem[];
}

export interface RenderedPrompts {
  messages: { role: string; content: unknown; tokens: number; kind: string; source: unknown }[];
  warnings: string[];
}

export interface AgentTool {
  name: string;
  server: string;
  tool: string;
  description: string | null;
  parameters: unknown;
  tokens: number;
}

export interface AgentTools {
  items: AgentTool[];
  servers: { id: string; transport: string; state: string; error: string | null }[];
}

export interface ToolResult {
  content: unknown;
  structuredContent?: unknown;
  isError: boolean;
  data?: unknown;
  duration_ms: number;
}

export interface HookResult {
  result: unknown;
  messages: unknown[];
  memory: { space: string; key: string; op: string }[];
  trace_id: string | null;
  cpu_ms: number;
  error: { message: string; code: string; file: string | null; line: number | null; stack: string | null } | null;
}

export function agentPath(id: string): string {
  return `/app/agents/${encodeURIComponent(id)}`;
}

/** Whether a path below the app's folder is that of an agent's file; the parts of an agent's folder are those of its id. */
export function isFileAt(place: string, id: string, path: string): boolean {
  return place.endsWith(`/${path}`) && place.replaceAll("/", ".") === `assistants.${id}.${path.replaceAll("/", ".")}`;
}

/** A value in one line. */
export function inline(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "–");
}

/** What operators are told of a message's or a server's origin, in one line. */
export function place(value: unknown): string {
  if (typeof value !== "object" || value === null) return inline(value ?? "–");
  const { file, line, index } = value as Record<string, unknown>;
  if (typeof file !== "string") return inline(value);
  return [file, line ?? (typeof index === "number" ? `#${index}` : null)].filter((part) => part != null).join(":");
}
