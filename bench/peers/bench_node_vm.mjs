// W7 in Node: the hook of hook.js, each time in a fresh vm context, its script compiled once.  usage: node bench_node_vm.mjs memory
// Values cross the border as JSON, as they do in Ambit; memory is a Map, trace and log lines are only taken down.
import fs from "node:fs"; import vm from "node:vm"; import path from "node:path"; import { fileURLToPath } from "node:url";
const E = process.env, P = `Node ${process.versions.node.split(".")[0]} vm`, MESSAGES = 10, BEFORE = 200, TIMES = +(E.HOOKS || 1000);
if (!new Set((E.WORK || "W7").split(",")).has("W7")) process.exit(0);
const emit = (work, v, unit, note) => console.log(JSON.stringify({ peer: P, backend: process.argv[2], work, p: MESSAGES, v, unit, note }));
const words = "alpha bravo order refund ticket please status invoice".split(" ");
const text = (i) => { let s = `${i}`; while (s.length < 295) s += " " + words[i = (i * 31 + 7) % 8]; return s.slice(0, 295); };
const messages = JSON.stringify(Array.from({ length: MESSAGES }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: text(i) })));
const properties = JSON.stringify({
  chat_id: "c-8f14e45f", assistant_id: "shop.orders", locale: "en-us", theme: "dark", route: "/orders", accept: "cui-web", referer: "api",
  client: { type: "web", user_agent: "Mozilla/5.0", ip: "203.0.113.7" }, metadata: { source: "widget" }, request_id: "r-45c48cce2e2d", context_id: "x-d3d9446802a4",
  authorized: { user_id: "u1", team_id: "t1", tenant_id: "acme", scope: "chat", constraints: { owner_only: true } },
});
const store = new Map();
let taken = 0;
const host = {
  Get: (key) => JSON.stringify(store.get(key) ?? null),
  Set: (key, value) => { store.set(key, JSON.parse(value)); },
  Incr: (key) => { store.set(key, (store.get(key) ?? 0) + 1); return store.get(key); },
  take: (value) => { JSON.parse(value); taken++; },
};
const file = fileURLToPath(new URL("hook.js", import.meta.url));
const hook = fs.readFileSync(file, "utf8");
const glue = `(host, properties, messages) => {
  const memory = () => ({ Get: key => JSON.parse(host.Get(key)), Set: (key, value) => { host.Set(key, JSON.stringify(value)); }, Incr: key => host.Incr(key) });
  globalThis.console = {};
  for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...args) => { host.take(JSON.stringify(args)); };
  const ctx = JSON.parse(properties);
  ctx.memory = { user: memory(), team: memory(), chat: memory(), context: memory() };
  ctx.trace = { Add: (node, options) => { host.take(JSON.stringify([node, options])); return {}; } };
  return JSON.stringify(Create(ctx, JSON.parse(messages)));
}`;
const scripts = [hook, glue].map((code, i) => new vm.Script(code, { filename: i ? "glue.js" : path.basename(file) }));
const one = () => {
  const context = vm.createContext();
  const [, run] = scripts.map((script) => script.runInContext(context));
  if (JSON.parse(run(host, properties, messages)).messages.length !== MESSAGES) throw new Error("the hook returned other messages");
};
for (let i = 0; i < BEFORE; i++) one();
const spent = [];
for (let i = 0; i < TIMES; i++) { const a = performance.now(); one(); spent.push(performance.now() - a); }
emit("W7 hook", spent.sort((a, b) => a - b)[TIMES >> 1], "ms", "a fresh vm context each, script compiled once");
const before = process.cpuUsage();
for (let i = 0; i < 4 * TIMES; i++) one();
const { user, system } = process.cpuUsage(before);
emit("W7 hooks per CPU-second", (4 * TIMES) / ((user + system) / 1e6), "hooks/s", "a fresh vm context each, script compiled once");
if (taken !== 3 * (BEFORE + 5 * TIMES)) throw new Error(`${taken} nodes and lines`);
