// Written by `cargo xtask generate`. Do not edit.

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

/** What a script sees of a turn. It is a view: what a script changes in it, nobody reads. */
export interface Context {
  /** The chat's name. */
  chat_id: string;
  /** The agent whose hook runs. */
  assistant_id: string;
  /** The language, such as `en-us`. */
  locale: string;
  /** The theme of the client's surface. */
  theme: string;
  /** The page of the client. */
  route: string;
  /** The output format. */
  accept: Accept;
  /** What kind of caller. */
  referer: Referer;
  /** The client program. */
  client: Client;
  /** Client-supplied data, and what `Create` returned. */
  metadata: Record<string, any>;
  /** Who is asking; a copy. */
  authorized: Authorized;
  /** The turn. */
  request_id: string;
  /** The run context. */
  context_id: string;
  /** The conversation's base identity. */
  identity: Identity;
  /** Four namespaces of values. */
  memory: Memory;
  /** The trace of the turn. */
  trace: Trace;
  /** Tool servers. */
  mcp: MCP;
  /** Searches. */
  search: Search;
  /** Calls of other agents. */
  agent: Agents;
  /** Calls of models. */
  llm: Models;
  /** Deprecated: `memory.context`. */
  space: Space;
  /** Sends a whole message and returns its id. */
  Send(message: Message | string, block_id?: string): string;
  /** Begins a message that goes on until `End`, and returns its id. */
  SendStream(message: Message | string, block_id?: string): string;
  /** Adds to a text or a list of a message; without a path, to its content. */
  Append(message_id: string, content: any, path?: string): string;
  /** Replaces all of a message, its type too if it differs. */
  Replace(message_id: string, message: Message | string | Record<string, any>): string;
  /** Merges an object deeply into a message. */
  Merge(message_id: string, data: any, path?: string): string;
  /** Puts a value at a path of a message. */
  Set(message_id: string, data: any, path: string): string;
  /** Ends a message, after adding a text if there is one. */
  End(message_id: string, final_content?: string): string;
  /** Ends a block. */
  EndBlock(block_id: string): void;
  /** A new id for a message. */
  MessageID(): string;
  /** A new id for a block. */
  BlockID(): string;
  /** A new id for a thread. */
  ThreadID(): string;
  /** Lets go of a context made with `new Context`. In a hook it does nothing. */
  Release(): void;
}

/** Named values that outlive a message. Each call is atomic; a write that has returned is durable, but in `context`. */
export interface MemoryNamespace {
  /** The owner's id; empty if there is none. */
  id: string;
  /** The namespace's name. */
  space: string;
  /** The value; `null` if there is none. */
  Get(key: string): any;
  /** Replaces value, type and life. `ttl` is seconds, or a text such as `"5m"`; 0 is for ever. */
  Set(key: string, value: any, ttl?: number | string | null): void;
  /** Deletes a value. A `*` in the key stands for any characters, and `\*` for a star. */
  Del(key: string): void;
  /** Whether there is a value. */
  Has(key: string): boolean;
  /** Takes the value away; of many callers one gets it. */
  GetDel(key: string): any;
  /** The keys, sorted; with a pattern, those that match. */
  Keys(pattern?: string): string[];
  /** How many values there are. */
  Len(): number;
  /** Deletes all values of this namespace, and nothing else. */
  Clear(): void;
  /** Adds to a number, 1 if not said otherwise; a missing one counts as 0. Keeps the life. */
  Incr(key: string, delta?: number): number;
  /** Subtracts from a number, which may go below zero. */
  Decr(key: string, delta?: number): number;
  /** Appends the items of a list, or one other value, and each further argument. Returns the new length. */
  Push(key: string, values: any, ...more: any[]): number;
  /** Takes the last item; `null` if there is none. */
  Pop(key: string): any;
  /** Takes the last `count` items, in stored order. */
  Pull(key: string, count: number): any[];
  /** Takes all items and leaves an empty list. */
  PullAll(key: string): any[];
  /** Appends what is not in the list yet. Returns the new length. */
  AddToSet(key: string, values: any, ...more: any[]): number;
  /** How many items; 0 if there is no list. */
  ArrayLen(key: string): number;
  /** One item; a negative index counts from the end. `null` outside. */
  ArrayGet(key: string, index: number): any;
  /** Replaces one item; a negative index counts from the end. Throws outside. */
  ArraySet(key: string, index: number, value: any): void;
  /** The items from `start` to `end`, both included; negative ones count from the end. */
  ArraySlice(key: string, start: number, end?: number): any[];
  /** One page of items; pages count from 1. */
  ArrayPage(key: string, page: number, size: number): any[];
  /** All items. */
  ArrayAll(key: string): any[];
  /** The values whose key or texts have any of these words, the best first; with the text `""` all, by key. */
  Search(text: string, options?: MemorySearchOptions): MemoryMatch[];
}

/** Deprecated: the same values as `ctx.memory.context`. */
export interface Space {
  /** The value; `null` if there is none. */
  Get(key: string): any;
  /** Replaces value, type and life. `ttl` is seconds, or a text such as `"5m"`; 0 is for ever. */
  Set(key: string, value: any, ttl?: number | string | null): void;
  /** Deletes a value. A `*` in the key stands for any characters. */
  Delete(key: string): void;
  /** Deletes all values of this namespace, and nothing else. */
  Clear(): void;
  /** The keys, sorted; with a pattern, those that match. */
  Keys(pattern?: string): string[];
}

/** Named values of the app: the same for all its users. Each call is atomic, also across processes. */
export interface Store {
  /** The value; `null` if there is none. */
  Get(key: string): any;
  /** Replaces value, type and life. `ttl` is seconds, or a text such as `"5m"`; 0 is for ever. */
  Set(key: string, value: any, ttl?: number | string | null): void;
  /** Deletes a value. A `*` in the key stands for any characters, and `\*` for a star. */
  Del(key: string): void;
  /** Whether there is a value. */
  Has(key: string): boolean;
  /** Takes the value away; of many callers one gets it. */
  GetDel(key: string): any;
  /** The keys, sorted; with a pattern, those that match. */
  Keys(pattern?: string): string[];
  /** How many values there are. */
  Len(): number;
  /** Deletes all values of this namespace, and nothing else. */
  Clear(): void;
  /** The value that is there; else this one, or what this function of the key returns, which then is there. */
  GetSet(key: string, value: any, ttl?: number | string | null): any;
  /** Adds to a number, 1 if not said otherwise; a missing one counts as 0. Keeps the life. */
  Incr(key: string, delta?: number): number;
  /** Subtracts from a number, which may go below zero. */
  Decr(key: string, delta?: number): number;
  /** Appends the items of a list, or one other value, and each further argument. Returns the new length. */
  Push(key: string, values: any, ...more: any[]): number;
  /** Takes the last item; `null` if there is none. */
  Pop(key: string): any;
  /** Takes the last `count` items, in stored order. */
  Pull(key: string, count: number): any[];
  /** Takes all items and leaves an empty list. */
  PullAll(key: string): any[];
  /** Appends what is not in the list yet. Returns the new length. */
  AddToSet(key: string, values: any, ...more: any[]): number;
  /** How many items; 0 if there is no list. */
  ArrayLen(key: string): number;
  /** One item; a negative index counts from the end. `null` outside. */
  ArrayGet(key: string, index: number): any;
  /** Replaces one item; a negative index counts from the end. Throws outside. */
  ArraySet(key: string, index: number, value: any): void;
  /** The items from `start` to `end`, both included; negative ones count from the end. */
  ArraySlice(key: string, start: number, end?: number): any[];
  /** One page of items; pages count from 1. */
  ArrayPage(key: string, page: number, size: number): any[];
  /** All items. */
  ArrayAll(key: string): any[];
}

/** What people are shown of a turn. No call throws, and none changes the turn. */
export interface Trace {
  /** The trace's id. */
  id: string;
  /** Begins a step below the current ones, which it completes; it becomes the current one. */
  Add(input: any, option: TraceNodeOption | string): TraceNode;
  /** Begins steps beside each other; together they are the current ones. */
  Parallel(inputs: { input: any; option: TraceNodeOption | string }[]): TraceNode[];
  /** Writes a line. */
  Info(message: string, data?: any): this;
  /** Writes a line for whoever looks for a defect. */
  Debug(message: string, data?: any): this;
  /** Writes a warning. */
  Warn(message: string, data?: any): this;
  /** Writes an error; the step goes on. */
  Error(message: string, data?: any): this;
  /** Says what came out. */
  SetOutput(output: any): this;
  /** Says more about the step. */
  SetMetadata(key: string, value: any): this;
  /** Ends the step as it should end. */
  Complete(output?: any): this;
  /** Ends the step as failed. */
  Fail(error: string | Error): this;
  /** Makes a board. */
  CreateSpace(option: TraceNodeOption | string): TraceSpace;
  /** The board with this id. */
  GetSpace(id: string): TraceSpace | null;
  /** Sets the flag that `IsComplete` reads; the trace itself ends with the turn. */
  MarkComplete(): this;
  /** Whether `MarkComplete` was called in this run. */
  IsComplete(): boolean;
  /** Silences all methods for the rest of the run. */
  Release(): void;
}

/** One step. Its methods are about this step, those of `ctx.trace` about the current one. */
export interface TraceNode {
  /** The node's id. */
  id: string;
  /** Begins a step below the current ones, which it completes; it becomes the current one. */
  Add(input: any, option: TraceNodeOption | string): TraceNode;
  /** Begins steps beside each other; together they are the current ones. */
  Parallel(inputs: { input: any; option: TraceNodeOption | string }[]): TraceNode[];
  /** Writes a line. */
  Info(message: string, data?: any): this;
  /** Writes a line for whoever looks for a defect. */
  Debug(message: string, data?: any): this;
  /** Writes a warning. */
  Warn(message: string, data?: any): this;
  /** Writes an error; the step goes on. */
  Error(message: string, data?: any): this;
  /** Says what came out. */
  SetOutput(output: any): this;
  /** Says more about the step. */
  SetMetadata(key: string, value: any): this;
  /** Ends the step as it should end. */
  Complete(output?: any): this;
  /** Ends the step as failed. */
  Fail(error: string | Error): this;
}

/** A small labelled board shown with the trace. */
export interface TraceSpace {
  /** The board's id. */
  id: string;
  /** Puts a value. */
  Set(key: string, value: any): void;
  /** The value; `null` if there is none. */
  Get(key: string): any;
  /** Whether there is a value. */
  Has(key: string): boolean;
  /** Takes a value away. */
  Delete(key: string): void;
  /** Takes all values away. */
  Clear(): void;
  /** The keys, sorted. */
  Keys(): string[];
}

/** Tool servers. A `client` is a server's id; the agent's own servers are found first. Where `mcp.servers` of the package or `mcp_servers` of `Create` names tools or resources of a server, there are no others of it here either. A result with `isError` does not throw. */
export interface MCP {
  /** Lists resources. */
  ListResources(client: string, cursor?: string): { resources: MCPResource[]; nextCursor: string | null };
  /** Reads a resource. */
  ReadResource(client: string, uri: string): { contents: MCPContents[] };
  /** Lists tools. */
  ListTools(client: string, cursor?: string): { tools: MCPTool[]; nextCursor: string | null };
  /** Calls a tool. */
  CallTool<Server extends ToolServer, Tool extends ToolName<Server>>(client: Server, name: Tool, ...args: ToolArguments<Server, Tool>): MCPResult;
  /** Calls tools one after another. */
  CallTools(client: string, tools: MCPCall[]): MCPResult[];
  /** Calls tools at once; the results keep the order. */
  CallToolsParallel(client: string, tools: MCPCall[]): MCPResult[];
  /** Lists prompts. */
  ListPrompts(client: string, cursor?: string): { prompts: MCPPrompt[]; nextCursor: string | null };
  /** Makes a prompt. */
  GetPrompt(client: string, name: string, args?: Record<string, any>): { description: string | null; messages: { role: string; content: any }[] };
  /** Lists samples. */
  ListSamples(client: string, type: "tool" | "resource", name: string): { samples: MCPSample[]; total: number };
  /** One sample. */
  GetSample(client: string, type: "tool" | "resource", name: string, index: number): MCPSample;
  /** Calls tools at once and waits for all. */
  All(requests: MCPRequest[]): (MCPAnswer | null)[];
  /** Calls tools at once and waits for the first success; the others are cancelled. */
  Any(requests: MCPRequest[]): (MCPAnswer | null)[];
  /** Calls tools at once and waits for the first that ends; the others are cancelled. */
  Race(requests: MCPRequest[]): (MCPAnswer | null)[];
}

/** Searches the web, collections of knowledge and tables of the app, as the caller: what they may not see does not exist. A search that fails does not throw: its `error` says why. What is found are references of the turn, cited by `citation_id`. */
export interface Search {
  /** Searches the web. */
  Web(query: string, options?: WebSearchOptions): SearchResult;
  /** Searches collections of knowledge. */
  KB(query: string, options?: KBSearchOptions): SearchResult;
  /** Searches tables of the app. */
  DB(query: string, options?: DBSearchOptions): SearchResult;
  /** Searches at once and waits for all. */
  All(requests: SearchRequest[]): (SearchResult | null)[];
  /** Searches at once and waits for the first that finds something; the others are cancelled. */
  Any(requests: SearchRequest[]): (SearchResult | null)[];
  /** Searches at once and waits for the first that ends; the others are cancelled. */
  Race(requests: SearchRequest[]): (SearchResult | null)[];
}

/** Calls of other agents, each in a context of its own. What goes wrong is in `error`; nothing throws. */
export interface Agents {
  /** Calls an agent. The client sees what it says in a thread of its own, unless `skip.output`. */
  Call(agent_id: string, messages: Message[], options?: AgentCallOptions): AgentResult;
  /** Calls agents at once and waits for all. The client sees those that say `skip: { output: false }`. */
  All(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[];
  /** Calls agents at once and waits for the first success; the others are cancelled. */
  Any(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[];
  /** Calls agents at once and waits for the first that ends; the others are cancelled. */
  Race(requests: AgentRequest[], options?: ManyOptions): (AgentResult | null)[];
}

/** Calls of models. Tools are never run here: calls are in `response.tool_calls`. What goes wrong is in `error`. */
export interface Models {
  /** Calls a model. The client sees what it says, unless `skip.output`. */
  Stream(connector: string, messages: Message[], options?: ModelCallOptions): ModelResult;
  /** Calls models at once and waits for all. */
  All(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[];
  /** Calls models at once and waits for the first success; the others are cancelled. */
  Any(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[];
  /** Calls models at once and waits for the first that ends; the others are cancelled. */
  Race(requests: ModelRequest[], options?: ManyOptions): (ModelResult | null)[];
  /** Not supported. */
  GenerateImage(...args: any[]): never;
}

/** Queries over the tables of loaded models, as objects. Each table is cut down to the rows that the caller may see. */
export interface Query {
  /** The rows; `values` stand for `?:name` in the query. Without a limit at most 10 000, more throws. */
  Get(query: QueryDSL, values?: Record<string, any>): any[];
  /** The first row; null if there is none. */
  First(query: QueryDSL, values?: Record<string, any>): any;
  /** A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`. */
  Paginate(query: QueryDSL, values?: Record<string, any>): any;
  /** A page where the query has `page` or `pagesize`, the first row where it says `first`, else the rows. */
  Run(query: QueryDSL, values?: Record<string, any>): any;
  /** What is wrong with a query, without running it. */
  Lint(query: QueryDSL, values?: Record<string, any>): QueryLint;
}

/** An error with a code: a number is like a status of HTTP, a text is passed through. With or without `new`. */
export interface Exception extends Error {
  code?: string | number;
  status?: number;
}

/** A copy of `ctx.authorized`. */
export declare function Authorized(): Authorized;
/** The translation of a text for `ctx.locale`; an unknown text comes back unchanged. */
export declare function $L(text: string): string;
/** Runs a process for the caller of this run and returns its value; its errors are thrown. */
export declare function Process<Name extends ProcessName>(name: Name, ...args: ProcessArguments<Name>): ProcessValue<Name>;
/** Runs processes at once and waits for all. */
export declare function All(requests: ProcessRequest[]): ProcessResult[];
/** Runs processes at once and waits for the first success; the others are cancelled. */
export declare function Any(requests: ProcessRequest[]): (ProcessResult | null)[];
/** Runs processes at once and waits for the first that ends; the others are cancelled. */
export declare function Race(requests: ProcessRequest[]): (ProcessResult | null)[];
/** A store of the app, by the name of its file in `stores/`. */
export declare function Store(id: StoreId): Store;
/** The standard's `fetch`. It rejects with a `TypeError` where the host is not allowed. */
export declare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
/** `new Context(…)` makes a detached context: the caller's identity, an empty request memory, output discarded. */
export declare const Context: { new (options?: ContextOptions): Context };
/** Queries over the app's data; the engine is always `default`. */
export declare function Query(engine?: string): Query;
export declare const http: {
  /** Sends a request. A request that fails is an answer with `status` 0 and a `message`; `code` 403 where the host is not allowed. */
  Get(url: string, query?: any, headers?: any): HttpResponse;
  /** Sends a request. Each of `files` is `{name, filename?, type?, data}` with `data` in base64. */
  Post(url: string, payload?: any, files?: any, query?: any, headers?: any): HttpResponse;
  /** Sends a request. */
  Put(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
  /** Sends a request. */
  Patch(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
  /** Sends a request. */
  Delete(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
  /** Sends a request. */
  Head(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
  /** Sends a request of any method. */
  Send(method: string, url: string, payload?: any, query?: any, headers?: any, files?: any): HttpResponse;
  /** Sends a request and gives each line of the answer to a function, until it returns `false`, 0 or less. */
  Stream(method: string, url: string, callback: (line: string) => any, payload?: any, query?: any, headers?: any): HttpResponse;
};
export declare const log: {
  /** Writes a line for whoever looks for a defect. */
  Trace(format: any, ...args: any[]): void;
  /** Writes a line for whoever looks for a defect. */
  Debug(format: any, ...args: any[]): void;
  /** Writes a line. */
  Info(format: any, ...args: any[]): void;
  /** Writes a warning. */
  Warn(format: any, ...args: any[]): void;
  /** Writes an error. */
  Error(format: any, ...args: any[]): void;
  /** Writes an error, and throws it. */
  Fatal(format: any, ...args: any[]): never;
  /** Writes an error, and throws it. */
  Panic(format: any, ...args: any[]): never;
};
export declare const time: {
  /** Waits. It counts as time of the run, not as processor time. */
  Sleep(ms: number): void;
  /** Runs a process later in this run, beside what the run does then; it is dropped when the run ends. */
  After(ms: number, process: string, ...args: any[]): void;
};
export declare const Exception: { new (message?: string, code?: string | number): Exception; (message?: string, code?: string | number): Exception; readonly prototype: Exception };

declare global {
  /** A copy of `ctx.authorized`. */
  function Authorized(): Authorized;
  /** The translation of a text for `ctx.locale`; an unknown text comes back unchanged. */
  function $L(text: string): string;
  /** Runs a process for the caller of this run and returns its value; its errors are thrown. */
  function Process<Name extends ProcessName>(name: Name, ...args: ProcessArguments<Name>): ProcessValue<Name>;
  /** Runs processes at once and waits for all. */
  function All(requests: ProcessRequest[]): ProcessResult[];
  /** Runs processes at once and waits for the first success; the others are cancelled. */
  function Any(requests: ProcessRequest[]): (ProcessResult | null)[];
  /** Runs processes at once and waits for the first that ends; the others are cancelled. */
  function Race(requests: ProcessRequest[]): (ProcessResult | null)[];
  /** A store of the app, by the name of its file in `stores/`. */
  function Store(id: StoreId): Store;
  /** The standard's `fetch`. It rejects with a `TypeError` where the host is not allowed. */
  function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** `new Context(…)` makes a detached context: the caller's identity, an empty request memory, output discarded. */
  const Context: { new (options?: ContextOptions): Context };
  /** Queries over the app's data; the engine is always `default`. */
  function Query(engine?: string): Query;
  const http: {
    /** Sends a request. A request that fails is an answer with `status` 0 and a `message`; `code` 403 where the host is not allowed. */
    Get(url: string, query?: any, headers?: any): HttpResponse;
    /** Sends a request. Each of `files` is `{name, filename?, type?, data}` with `data` in base64. */
    Post(url: string, payload?: any, files?: any, query?: any, headers?: any): HttpResponse;
    /** Sends a request. */
    Put(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
    /** Sends a request. */
    Patch(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
    /** Sends a request. */
    Delete(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
    /** Sends a request. */
    Head(url: string, payload?: any, query?: any, headers?: any): HttpResponse;
    /** Sends a request of any method. */
    Send(method: string, url: string, payload?: any, query?: any, headers?: any, files?: any): HttpResponse;
    /** Sends a request and gives each line of the answer to a function, until it returns `false`, 0 or less. */
    Stream(method: string, url: string, callback: (line: string) => any, payload?: any, query?: any, headers?: any): HttpResponse;
  };
  const log: {
    /** Writes a line for whoever looks for a defect. */
    Trace(format: any, ...args: any[]): void;
    /** Writes a line for whoever looks for a defect. */
    Debug(format: any, ...args: any[]): void;
    /** Writes a line. */
    Info(format: any, ...args: any[]): void;
    /** Writes a warning. */
    Warn(format: any, ...args: any[]): void;
    /** Writes an error. */
    Error(format: any, ...args: any[]): void;
    /** Writes an error, and throws it. */
    Fatal(format: any, ...args: any[]): never;
    /** Writes an error, and throws it. */
    Panic(format: any, ...args: any[]): never;
  };
  const time: {
    /** Waits. It counts as time of the run, not as processor time. */
    Sleep(ms: number): void;
    /** Runs a process later in this run, beside what the run does then; it is dropped when the run ends. */
    After(ms: number, process: string, ...args: any[]): void;
  };
  const Exception: { new (message?: string, code?: string | number): Exception; (message?: string, code?: string | number): Exception; readonly prototype: Exception };

  /** Names under which types are known without an import. */
  namespace agent {
    type Context = import("./index").Context;
    type Message = import("./index").Message;
    type Payload = import("./index").NextHookPayload;
    type Create = import("./index").HookCreateResponse;
    type Next = import("./index").NextHookResponse;
  }
  namespace YaoAgent {
    type Context = import("./index").Context;
    type Message = import("./index").Message;
    type NextHookPayload = import("./index").NextHookPayload;
    type HookCreateResponse = import("./index").HookCreateResponse;
    type NextHookResponse = import("./index").NextHookResponse;
  }
}
