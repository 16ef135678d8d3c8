// Answers of the contract's form with hostile texts wherever a text is free.

import { HOSTILE_TEXTS } from "./hostile.mjs";

const AT = 1764300000000;
const some = (make, count = 12) => Array.from({ length: count }, (_, at) => make(at));

/** Each text stands in one place, from the beginning again behind the last. */
export function hostileAnswers() {
  let at = 0;
  const next = () => HOSTILE_TEXTS[at++ % HOSTILE_TEXTS.length];
  return { ...agents(next), ...contexts(next), ...data(next), ...access(next), ...system(next) };
}

function agents(next) {
  const agent = (at) => ({
    assistant_id: at === 0 ? "welcome" : `agent${at}`, type: "assistant",
    settings: { name: { value: next(), from: next() }, description: { value: next(), from: next() } },
    connector: { id: next(), type: next(), model: next(), capabilities: [next()] },
    servers: [next()], hooks: [{ name: next(), file: next(), line: 1 }], files: [{ path: next(), bytes: 1, version: "v1" }],
    problems: [problem(next)],
  });
  const tool = () => ({
    name: next(), server: next(), tool: next(), description: next(), tokens: 1,
    parameters: { type: "object", properties: { [next()]: { type: "string", description: next() } } },
  });
  const source = () => ({ file: next(), index: 0, version: "v1", variables: [next()] });
  const message = () => ({ role: "system", content: next(), tokens: 1, kind: "prompt", source: source() });
  return {
    "GET /app/agents": { items: some(agent) },
    "GET /app/agents/*": agent(0),
    "GET /app/agents/*/tools": { items: some(tool), servers: [{ id: next(), transport: "process", state: "failed", error: next() }] },
    "POST /app/agents/*/prompts": { messages: some(message), warnings: [next()] },
  };
}

function contexts(next) {
  const row = (at) => ({
    id: `row${at}`, agent_name: next(), chat_name: next(), user_id: next(), group: next(), scope: "chatHistory", key: next(), state: "live",
    items: 1, created_at: AT, last_activity_at: AT, agents: [next()], labels: { [next()]: next() }, placement: [next()], team: next(),
    created_by: next(), generation: 1, touches: [],
  });
  return { "GET /contexts": { items: some(row), next: null }, "GET /contexts/*": row(0) };
}

function data(next) {
  const model = (at) => ({ id: `m${at}`, label: next(), table: next(), permission: true, rows: 12 });
  const columns = [{ name: "id", type: "ID" }, { name: "text", type: "string", label: next(), comment: next() }];
  const rows = some((at) => ({ id: at, text: next() }));
  return {
    "GET /data/models": { items: some(model) },
    "GET /data/models/*": { ...model(0), columns, relations: [], indexes: [] },
    "POST /data/models/*/query": { data: rows, page: 1, pagesize: 50, pagecnt: 1, next: -1, prev: -1, total: 12, limited_by: [next()] },
  };
}

function access(next) {
  const key = (at) => ({
    id: `key${at}`, label: next(), user_id: next(), team_id: next(), roles: [next()], scope: next(), created_at: AT, created_by: next(),
    expires_at: null, last_used_at: null,
  });
  const rule = () => ({ name: next(), scopes: [next()], endpoints: [next()], restricted: [next()], default: false, file: next() });
  const endpoint = () => ({ endpoint: next(), effect: "allow", file: next() });
  return {
    "GET /keys": { items: some(key) },
    "GET /access/rules": {
      roles: some(rule), scopes: some(rule), aliases: some(rule), public: some(endpoint), endpoints: some(endpoint), default: "deny",
    },
    "POST /access/explain": { granted: false, lines: some(next) },
  };
}

const problem = (next) => ({ severity: "error", file: next(), line: 1, column: 1, message: next() });

function system(next) {
  const store = () => ({ name: next(), kind: next(), role: "secondary", state: "error", latency_ms: 1, bytes: 1, error: next() });
  const lease = (at) => ({
    request_id: `r${at}`, context: next(), assistant_id: next(), node: next(), epoch: 1, expires_at: AT, waiting: 0,
  });
  const problems = () => some(() => problem(next));
  const event = (at) => {
    const data = { type: next(), chat_id: next(), user_id: next(), agent: next(), at: AT, message: next() };
    return `id: ${at + 1}\nevent: ${at % 2 ? "MessageAdded" : "ContextCleared"}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const series = '{route="<img src=x onerror=ran()>",status="200"}';
  return {
    "GET /system": {
      version: next(), mode: "dev", node: next(), started_at: AT, app: { name: next(), version: next(), loaded_at: AT, problems: 1 },
      stores: some(store), nodes: [{ id: next(), version: next(), started_at: AT, seen_at: AT, turns: 1 }], turns: { running: 1, waiting: 0 },
    },
    "GET /system/leases": { items: some(lease), next: null },
    "GET /app/problems": { loaded_at: AT, problems: problems(), refused: { at: AT, problems: problems() } },
    "GET /metrics": () => ({ type: "text/plain", body: `# TYPE ambit_http_requests_total counter\nambit_http_requests_total${series} 1\n` }),
    "GET /events": () => ({ type: "text/event-stream", body: some(event).join("") }),
  };
}
