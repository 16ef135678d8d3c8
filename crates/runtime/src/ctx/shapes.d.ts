/** A message: `{type, props}`, or a string, which is short for a text. */
export interface Message {
  type?: string;
  props?: Record<string, any>;
  message_id?: string;
  block_id?: string;
  thread_id?: string;
  metadata?: Record<string, any>;
  /** Messages of a conversation have a role and content instead. */
  role?: "system" | "developer" | "user" | "assistant" | "tool" | (string & {});
  content?: any;
  name?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  refusal?: string | null;
  [key: string]: any;
}

/** A call of a tool as a model makes it. */
export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** The output formats. */
export type Accept = "standard" | "cui-web" | "cui-native" | "cui-desktop" | "ai-sdk" | "ag-ui" | "messages" | (string & {});

/** Kinds of callers. */
export type Referer =
  | "api" | "jssdk" | "process" | "mcp" | "agent" | "agent_fork"
  | "tool" | "hook" | "schedule" | "script" | "internal" | (string & {});

/** A client program. */
export interface Client {
  type: string;
  user_agent: string;
  ip: string;
}

/** Who is asking. Absent keys are left out; nobody in particular is `{}`. */
export interface Authorized {
  user_id?: string;
  team_id?: string;
  tenant_id?: string;
  client_id?: string;
  session_id?: string;
  sub?: string;
  scope?: string;
  remember_me?: boolean;
  /** Who acts as this caller, if it is somebody else. */
  acted_by?: { user_id: string | null; client_id: string | null };
  constraints?: DataConstraints;
  [key: string]: any;
}

/** Limits on the data that a caller may reach. */
export interface DataConstraints {
  owner_only?: boolean;
  creator_only?: boolean;
  editor_only?: boolean;
  team_only?: boolean;
  extra?: Record<string, any>;
}

/** The base identity of a conversation. */
export interface Identity {
  agent_name: string;
  chat_name: string | null;
  user_id: string | null;
  group: string | null;
  scope: string | null;
  key: string;
}

/** The namespaces of memory. */
export interface Memory {
  user: MemoryNamespace;
  team: MemoryNamespace;
  chat: MemoryNamespace;
  context: MemoryNamespace;
}

/** How a step of the trace is shown. */
export interface TraceNodeOption {
  label: string;
  type?: string;
  icon?: string;
  description?: string;
  metadata?: Record<string, any>;
  /** `false` leaves the steps above running. */
  autoCompleteParent?: boolean;
}

/** What narrows a search of a memory. */
export interface MemorySearchOptions {
  /** At most so many values, up to 100; 10 if not said. */
  limit?: number;
  /** What the values must be like: paths into them, and a value, a list of values or operators such as `$gt`. */
  filter?: Record<string, any>;
  /** Only keys that match; `*` stands for any text. */
  pattern?: string;
}

/** A value that a search of a memory found. */
export interface MemoryMatch {
  key: string;
  value: any;
  /** From 0 to 1; `null` where no words were asked for. */
  score: number | null;
  snippet: string;
}

/** What `new Context` takes. */
export interface ContextOptions {
  assistant_id?: string;
  chat_id?: string;
  locale?: string;
  metadata?: Record<string, any>;
}

/** What `Create` and `Next` are given beside the messages. */
export interface HookOptions {
  connector?: string;
  mode?: string;
  search?: boolean | SearchIntent;
  skip?: Skip;
  disable_global_prompts?: boolean;
  metadata?: Record<string, any>;
  /** How the turn came about. */
  trigger?: "submit" | "edit" | "regenerate" | "continue";
  [key: string]: any;
}

/** What a turn leaves out. */
export interface Skip {
  history?: boolean;
  trace?: boolean;
  output?: boolean;
  search?: boolean;
  keyword?: boolean;
  content_parsing?: boolean;
}

/** A tool server, and which of its tools and resources are offered. */
export type MCPServerConfig = string | { server_id: string; tools?: string[]; resources?: string[] };

/** Which agent, tool server or built-in part does something. */
export interface UsesConfig {
  vision?: string;
  audio?: string;
  search?: string;
  fetch?: string;
  web?: string;
  keyword?: string;
  querydsl?: string;
  rerank?: string;
}

/** An intent that is known already. */
export interface SearchIntent {
  need_search?: boolean;
  search_types?: ("web" | "kb" | "db")[];
  types?: ("web" | "kb" | "db")[];
  confidence?: number;
  reason?: string;
}

/** Another agent that takes over. */
export interface Delegate {
  agent_id: string;
  messages: Message[];
  options?: Record<string, any>;
}

/** What `Create` may return; everything else is `null` or nothing. */
export interface HookCreateResponse {
  messages?: Message[];
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  audio?: { voice?: string; format?: string };
  mcp_servers?: MCPServerConfig[];
  prompt_preset?: string;
  connector?: string;
  locale?: string;
  theme?: string;
  route?: string;
  metadata?: Record<string, any>;
  uses?: UsesConfig;
  force_uses?: boolean;
  search?: boolean | SearchIntent;
  disable_global_prompts?: boolean;
  delegate?: Delegate;
}

/** What `Next` is given. */
export interface NextHookPayload {
  messages: Message[];
  completion: CompletionResponse | null;
  tools: ToolCallResponse[];
  error: string | null;
  error_code?: string | null;
  error_stage?: "build" | "llm" | "tool" | null;
  search?: SearchReferences | null;
}

/** The last answer of the model. */
export interface CompletionResponse {
  id: string;
  model: string;
  role: "assistant";
  content: any;
  tool_calls: ToolCall[] | null;
  refusal: string | null;
  reasoning_content: string | null;
  finish_reason: string;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; [key: string]: any };
  message_id: string;
}

/** A tool call that was run. */
export interface ToolCallResponse {
  toolcall_id: string;
  /** `null` where the model asked for a tool that there is not. */
  server: string | null;
  tool: string;
  arguments: any;
  result: any;
  error: string | null;
  round: number;
}

/** What automatic search found. */
export interface SearchReferences {
  query: string;
  types: string[];
  references: {
    id: string; type: string; title: string; url: string; content: string;
    score: number; weight: number; source: string;
  }[];
}

/** What `Next` may return; everything else is `null` or nothing. */
export interface NextHookResponse {
  delegate?: Delegate;
  data?: any;
  metadata?: Record<string, any>;
}

/** Options of a call of an agent. */
export interface AgentCallOptions {
  connector?: string;
  mode?: string;
  metadata?: Record<string, any>;
  skip?: Partial<Skip>;
  /** Gets every frame of the call; a number other than 0 stops it. */
  onChunk?: (message: Message) => number | void;
  /** What the called agent's own hooks get beside these. */
  [key: string]: any;
}

/** One of several calls of agents. */
export interface AgentRequest {
  agent: string;
  messages: Message[];
  options?: AgentCallOptions & { onChunk?: never };
}

/** What came of a call of an agent. */
export interface AgentResult {
  agent_id: string;
  response: {
    request_id: string;
    context_id: string;
    trace_id: string;
    chat_id: string;
    assistant_id: string;
    create: any;
    next: any;
    completion: CompletionResponse | null;
    tools: ToolCallResponse[];
    metadata: Record<string, any>;
  } | null;
  content: string;
  error: string | null;
  stopped?: true;
}

/** Options of a call of a model. */
export interface ModelCallOptions {
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  top_p?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  stop?: string | string[];
  user?: string;
  seed?: number;
  tools?: any[];
  tool_choice?: any;
  response_format?: any;
  reasoning_effort?: string;
  skip?: { output?: boolean };
  /** Gets every frame of the call; a number other than 0 stops it. */
  onChunk?: (message: Message) => number | void;
}

/** One of several calls of models. */
export interface ModelRequest {
  connector: string;
  messages: Message[];
  options?: Omit<ModelCallOptions, "onChunk">;
}

/** What came of a call of a model. */
export interface ModelResult {
  connector: string;
  response: CompletionResponse | null;
  content: string;
  error: string | null;
  stopped?: true;
}

/** Options of several calls. */
export interface ManyOptions {
  /** Gets every frame of every call; a number other than 0 stops that call. */
  onChunk?: (name: string, index: number, message: Message) => number | void;
}

/** A tool of a server. */
export interface MCPTool {
  name: string;
  description: string | null;
  inputSchema: any;
  outputSchema: any;
}

/** A resource of a server. */
export interface MCPResource {
  uri: string;
  name: string;
  description: string | null;
  mimeType: string | null;
  meta: any;
}

/** What a resource holds. */
export interface MCPContents {
  uri: string;
  mimeType: string | null;
  text?: string;
  blob?: string;
}

/** A prompt of a server. */
export interface MCPPrompt {
  name: string;
  description: string | null;
  arguments: { name: string; description: string | null; required: boolean | null }[] | null;
}

/** A call of a tool. */
export interface MCPCall {
  name: string;
  arguments?: Record<string, any>;
}

/** What came of it; `data` is the convenience value. */
export interface MCPResult {
  content: any[];
  structuredContent?: any;
  isError: boolean;
  data: any;
}

/** A sample of a tool or a resource. */
export interface MCPSample {
  index: number;
  name: string | null;
  description: string | null;
  [key: string]: any;
}

/** One of several calls of tools of several servers. */
export interface MCPRequest {
  mcp: string;
  tool: string;
  arguments?: Record<string, any>;
}

/** What came of one of them. */
export interface MCPAnswer {
  mcp: string;
  tool: string;
  result: any;
  error: string | null;
}

/** How the web is searched; `limit` is 1 to 100. */
export interface WebSearchOptions {
  limit?: number;
  sites?: string[];
  time_range?: "hour" | "day" | "week" | "month" | "year";
  /** Puts the results in order once more, by whom `uses.rerank` names. */
  rerank?: { top_n?: number } | boolean;
}

/** How collections are searched; `metadata` is a filter, `graph` has no effect. */
export interface KBSearchOptions {
  collections?: string[];
  threshold?: number;
  limit?: number;
  graph?: boolean;
  metadata?: Record<string, any>;
  document_id?: string;
  rerank?: { top_n?: number } | boolean;
}

/** How tables are searched; `wheres` and `orders` are those of a QueryParam. */
export interface DBSearchOptions {
  models?: string[];
  wheres?: Record<string, any>[];
  orders?: { column: string; option?: "asc" | "desc"; [key: string]: any }[];
  select?: string[];
  limit?: number;
  scenario?: "filter" | "aggregation" | "join" | "complex";
  rerank?: { top_n?: number } | boolean;
}

/** One search of `All`, `Any` and `Race`. */
export type SearchRequest =
  | ({ type: "web"; query: string } & WebSearchOptions)
  | ({ type: "kb"; query: string } & KBSearchOptions)
  | ({ type: "db"; query: string } & DBSearchOptions);

/** What came of a search; with an `error` there are no items. */
export interface SearchResult {
  type: "web" | "kb" | "db";
  query: string;
  source: "hook" | "auto" | "user";
  items: SearchItem[];
  total: number;
  duration_ms: number;
  error?: string;
  notes?: string[];
  dsl?: any;
  graph_nodes?: any[];
}

/** A result: a reference of the turn, cited by its `citation_id`. */
export interface SearchItem {
  citation_id: string;
  type: "web" | "kb" | "db";
  source: "user" | "hook" | "auto";
  weight: number;
  score: number;
  title: string;
  content: string;
  url: string;
  metadata: Record<string, any>;
  /** Of knowledge. */
  document_id?: string;
  collection?: string;
  chunk_id?: string;
  heading?: string[];
  page?: number;
  range?: [number, number];
  /** Of tables. */
  model?: string;
  record_id?: any;
  data?: Record<string, any>;
  /** An agent or a tool says where it lies, and nothing is read there for that. */
  foreign?: boolean;
}

/** One process of `All`, `Any` and `Race`; `timeout` is seconds, 30 if not said otherwise. */
export interface ProcessRequest {
  process: string;
  args?: any[];
  timeout?: number;
}

/** What came of it. */
export interface ProcessResult {
  data: any;
  error: string | null;
  index: number;
}

/** What `http.Get` and its like return: `status` 0 and a `message` where there is no answer. */
export interface HttpResponse {
  status: number;
  code: number;
  /** JSON as a value, text as text, anything else in base64; `null` without a body. */
  data: any;
  headers: Record<string, string[]>;
  message: string;
}

/** Runs before the model. */
export type CreateHook = (
  ctx: Context, messages: Message[], options: HookOptions,
) => HookCreateResponse | null | undefined | void | Promise<HookCreateResponse | null | undefined | void>;

/** Runs after the model and its tools. */
export type NextHook = (
  ctx: Context, payload: NextHookPayload, options: HookOptions,
) => NextHookResponse | null | undefined | void | Promise<NextHookResponse | null | undefined | void>;

/** A query over the tables of loaded models. Each table is cut down to the rows that the caller may see. */
export interface QueryDSL {
  /** Fields: `column`, `table.column`, `$model.column`, `:COUNT(column) as name`, `column$.key`, `?:name`. */
  select?: string | string[];
  /** A model's id or its table, perhaps with `as name`. */
  from?: string;
  /** A query in the place of `from`; its `name` is what it is called. */
  query?: QueryDSL;
  name?: string;
  joins?: { from: string; key: string; foreign: string; left?: boolean; right?: boolean; comment?: string }[];
  /** `{field, op, value, or}`, `{field, op, query}`, `{wheres, or}`, or `{":column": "comment", "=": value}`. */
  wheres?: any[];
  groups?: string | (string | { field: string; comment?: string })[];
  havings?: any[];
  orders?: string | (string | { field: string; sort?: "asc" | "desc"; comment?: string })[];
  first?: boolean;
  limit?: number;
  offset?: number;
  page?: number;
  pagesize?: number;
  comment?: string;
}

/** What is wrong with a query. */
export interface QueryLint {
  valid: boolean;
  diagnostics: { code: string; path: string; message: string }[];
}

/** The app's processes by name. `ambit types` fills it in `types/app.d.ts`, as well as those below. */
export interface AppProcesses {}

/** The app's models by id, each as a `ModelTypes`. */
export interface AppModels {}

/** The app's stores by id. */
export interface AppStores {}

/** The app's tool servers over `process` by id: the arguments of each tool. */
export interface AppTools {}

/** A process that is known, or the name of another. */
export type ProcessName = keyof AppProcesses | (string & {});

/** What a process takes; anything where it is not known. */
export type ProcessArguments<Name extends string> = Name extends keyof AppProcesses
  ? AppProcesses[Name] extends (...args: infer Arguments) => any ? Arguments : any[]
  : any[];

/** What a process returns; anything where it is not known. */
export type ProcessValue<Name extends string> = Name extends keyof AppProcesses
  ? AppProcesses[Name] extends (...args: any[]) => infer Value ? Awaited<Value> : any
  : any;

/** A store that is known, or the id of another. */
export type StoreId = keyof AppStores | (string & {});

/** A tool server that is known, or the id of another. */
export type ToolServer = keyof AppTools | (string & {});

/** The tools of a server. */
export type ToolName<Server extends string> = Server extends keyof AppTools ? keyof AppTools[Server] & string : string;

/** What a tool takes. */
export type ToolArguments<Server extends string, Tool extends string> = Server extends keyof AppTools
  ? Tool extends keyof AppTools[Server]
    ? {} extends AppTools[Server][Tool] ? [args?: AppTools[Server][Tool]] : [args: AppTools[Server][Tool]]
    : [args?: Record<string, any>]
  : [args?: Record<string, any>];

/** What a model's rows are: as they are read, as they are written, and what they are named by. */
export interface ModelTypes {
  row: any;
  new: any;
  key: any;
}

/** What is asked of a model's rows: a QueryParam. */
export interface ModelQuery {
  select?: string[];
  wheres?: any;
  orders?: any;
  limit?: number;
  page?: number;
  pagesize?: number;
  withs?: any;
  all?: boolean;
}

/** A page of rows. */
export interface ModelPage<Row> {
  data: Row[];
  page: number;
  pagesize: number;
  pagecnt: number;
  /** The next page, or -1. */
  next: number;
  /** The page before, or -1. */
  prev: number;
  total: number;
}

/** The methods of a model, as `Process("models.<id>.<Method>", …)` calls them. A query with `select` gives rows that have less. */
export interface ModelMethods<Model extends ModelTypes> {
  Find(id: Model["key"] | string, query?: ModelQuery | null): Model["row"];
  Get(query?: ModelQuery | null): Model["row"][];
  Paginate(query?: ModelQuery | null, page?: number | null, pagesize?: number | null): ModelPage<Model["row"]>;
  Count(query?: ModelQuery | null): number;
  SelectOption(keyword?: string | null, name?: string | null, value?: string | null, limit?: number | null): { name: any; id: any }[];
  Create(row: Model["new"]): Model["key"];
  Update(id: Model["key"] | string, row: Partial<Model["new"]>): null;
  Save(row: Partial<Model["new"]>): Model["key"];
  Insert(columns: string[], rows: any[][]): null;
  Delete(id: Model["key"] | string): null;
  Destroy(id: Model["key"] | string): null;
  Upsert(row: Model["new"], uniqueBy: string[], columns?: string[] | null): number;
  UpdateWhere(query: ModelQuery, row: Partial<Model["new"]>): number;
  DeleteWhere(query: ModelQuery): number;
  DestroyWhere(query: ModelQuery): number;
  EachSave(rows: Partial<Model["new"]>[], defaults?: Partial<Model["new"]> | null): Model["key"][];
  EachSaveAfterDelete(ids: (Model["key"] | string)[], rows: Partial<Model["new"]>[], defaults?: Partial<Model["new"]> | null): Model["key"][];
  Metadata(): any;
  Exists(): boolean;
}
