// W8 on Mastra's server (its Hono adapter): an agent with memory over HTTP, a model that answers at once, the stream to its end.
// W15: how late its tokens are, of a model in the server's own process that sends one every 20 ms.
// The server and its clients are two processes, as in Ambit's works.  usage: node bench_mastra_server.mjs memory|libsql
import fs from "node:fs"; import http from "node:http"; import path from "node:path"; import { fork } from "node:child_process"; import { fileURLToPath } from "node:url";
const kind = process.argv[2], P = "Mastra server 1.71.0", E = process.env, KV = +(E.KV || 300), BASE = E.BENCH_TMP || "/tmp/bench-peers";
const words = "alpha bravo order refund ticket please status invoice".split(" ");
const WORKS = new Set((E.WORK || "W8,W15").split(",")), TOKENS = +(E.TOKENS || Math.min(200, KV)), pause = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (i) => { let s = `${i}`; while (s.length < 295) s += " " + words[i = (i * 31 + 7) % 8]; return s.slice(0, 295); };

async function serve() {
  const [{ Mastra }, { Agent }, { Memory }, { InMemoryStore }, { MastraServer }, { Hono }, node] = await Promise.all(["@mastra/core/mastra", "@mastra/core/agent", "@mastra/memory", "@mastra/core/storage", "@mastra/hono", "hono", "@hono/node-server"].map((name) => import(name)));
  let storage = new InMemoryStore();
  if (kind === "libsql") {
    const { LibSQLStore } = await import("@mastra/libsql");
    const d = path.join(BASE, "mastra-server"); fs.rmSync(d, { recursive: true, force: true }); fs.mkdirSync(d, { recursive: true });
    storage = new LibSQLStore({ id: "s", url: "file:" + path.join(d, "m.db") });
  }
  await storage.init();
  const answer = text(0).split(" "), usage = { inputTokens: 10, outputTokens: 45, totalTokens: 55 };
  const parts = [{ type: "stream-start", warnings: [] }, { type: "text-start", id: "1" }, ...answer.map((word) => ({ type: "text-delta", id: "1", delta: word + " " })), { type: "text-end", id: "1" }, { type: "finish", finishReason: "stop", usage }];
  // The clock is the machine's, so that the client's process reads the same one.
  async function* tokens() {
    yield* parts.slice(0, 2);
    const start = performance.now() + 100;
    for (let i = 0; i < TOKENS; i++) { await pause(start + i * 20 - performance.now()); yield { type: "text-delta", id: "1", delta: `@${process.hrtime.bigint()} ` }; }
    yield* parts.slice(-2);
  }
  const model = {
    specificationVersion: "v2", provider: "scripted", modelId: "scripted", supportedUrls: {},
    doGenerate: async () => ({ content: [{ type: "text", text: answer.join(" ") }], finishReason: "stop", usage, warnings: [] }),
    doStream: async ({ prompt }) => ({ stream: ReadableStream.from(JSON.stringify(prompt.at(-1)).includes("Go on.") ? tokens() : parts) }),
  };
  const memory = new Memory({ storage, options: { lastMessages: 20 } });
  const clerk = new Agent({ id: "clerk", name: "clerk", instructions: "You answer.", model, memory });
  const app = new Hono(), mastra = new Mastra({ agents: { clerk }, storage, logger: false });
  await new MastraServer({ app, mastra }).init();
  node.serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => process.send(port));
}

async function measure(port) {
  const emit = (work, p, v, unit) => console.log(JSON.stringify({ peer: P, backend: kind, work, p, v, unit, note: "agent with memory over HTTP, " + (work.startsWith("W15") ? "its model in the server's process" : "no hook") + (kind === "libsql" ? "; no fsync at commit" : "") }));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const turn = (thread, said, heard = () => {}) => new Promise((done, failed) => {
    const body = JSON.stringify({ messages: [{ role: "user", content: said }], memory: { thread, resource: "u" } });
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    http.request({ agent, port, host: "127.0.0.1", method: "POST", path: "/api/agents/clerk/stream", headers }, (answer) => {
      let all = ""; answer.setEncoding("utf8"); answer.on("data", (some) => { all += some; heard(some); });
      answer.on("error", failed); answer.on("end", () => (answer.statusCode === 200 && all.includes('"type":"finish"') ? done() : failed(new Error(`${answer.statusCode}: ${all.slice(0, 300)}`))));
    }).on("error", failed).end(body);
  });
  // Another thread after 20 turns, as in Ambit's work, which one turn has made.
  const run = (clients, each, ofAThread, spent) => Promise.all(Array.from({ length: clients }, async (_, i) => {
    for (let j = 0; j < each; j++) { const a = performance.now(); await turn(`w8-${clients}-${i}-${Math.floor(j / ofAThread)}`, text(j)); spent.push(performance.now() - a); }
  }));
  const at = (spent, p) => spent[Math.max(0, Math.ceil((spent.length * p) / 100) - 1)];
  if (WORKS.has("W8")) await turns();
  if (WORKS.has("W15")) await turn("warm", "Go on.");
  if (WORKS.has("W15")) for (const streams of [1, 64]) {
    const ages = [];
    await Promise.all(Array.from({ length: streams }, async (_, i) => {
      let rest = "";
      // The whole text comes once more at the end.
      const heard = (some) => {
        const now = process.hrtime.bigint(), lines = (rest + some).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line.includes('"text-delta"')) for (const [, sent] of line.matchAll(/@(\d+) /g)) ages.push(Number(now - BigInt(sent)) / 1e6);
      };
      await pause((740 * i) / streams);
      await turn(`w15-${streams}-${i}`, "Go on.", heard);
    }));
    if (ages.length !== streams * TOKENS) throw new Error(`${ages.length} tokens came`);
    ages.sort((x, y) => x - y);
    emit("W15 token, p50", streams, at(ages, 50), "ms"); emit("W15 token, p99", streams, at(ages, 99), "ms");
  }
  async function turns() { for (const clients of [1, 16, 64]) {
    const spent = [], each = Math.max(5, Math.floor(KV / clients));
    await run(clients, Math.ceil(each / 20), 1, []);
    const a = performance.now();
    await run(clients, each, 20, spent);
    const seconds = (performance.now() - a) / 1e3;
    spent.sort((x, y) => x - y);
    emit("W8 turns", clients, spent.length / seconds, "turns/s"); emit("W8 turn, p50", clients, at(spent, 50), "ms"); emit("W8 turn, p99", clients, at(spent, 99), "ms");
  } }
}

if (process.send) await serve();
else if (WORKS.has("W8") || WORKS.has("W15")) {
  const server = fork(fileURLToPath(import.meta.url), [kind], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = new Promise((_, failed) => server.on("exit", (code) => failed(new Error(`the server ended with ${code}`))));
  const port = await Promise.race([new Promise((told) => server.on("message", told)), ended]);
  try { await Promise.race([measure(port), ended]); } finally { server.removeAllListeners("exit"); server.kill("SIGKILL"); }
  ended.catch(() => {});
  process.exit(0);
}
