import assert from "node:assert/strict";
import { after, test } from "node:test";
import { begin, contextOf } from "./support/chats.mjs";
import { useConsole } from "./support/console.mjs";
import { hostileAnswers } from "./support/hostile-answers.mjs";
import { startModel } from "./support/model.mjs";
import { openRecorded } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { LIMIT } from "./support/wait.mjs";

const made = {};
const model = await startModel();
after(() => model.close());
/** An agent whose turns run as long as its model is held. */
const SLOW = {
  ...model.files,
  "assistants/slow/package.yao": JSON.stringify({ name: "Slow", connector: "held" }),
  "assistants/slow/prompts.yml": "- role: system\n  content: Speak.\n",
};
const readChat = async (server, context) => (await fetch(`${server.api}/chat/sessions/-?context=${context}`)).json();

const ambit = useConsole("welcome", async (server) => {
  made.turn = (await say(server, "one", "Hello")).ambit.request_id;
  const { items } = await (await fetch(`${server.api}/contexts?scope=chatHistory`)).json();
  made.context = items[0].id;
  // A chat of a team, which can be shared.
  made.chats = { [made.context]: { ...(await readChat(server, made.context)), team_id: "shop" } };
  const put = (path, body, method = "PUT") =>
    fetch(`${server.api}${path}`, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  await put("/memory/user/keys/place", { value: "garden" });
  await put("/kb/collections", { id: "shop" }, "POST");
  made.document = (await (await put("/kb/collections/shop/documents/text", { text: "Lamps", name: "lamps.md" }, "POST")).json()).doc_id;
}, SLOW);

/** What reads which part: the operations of §3.1, where a `*` stands for one part of a path. */
const READS = () => [
  ["#/chats", "GET /chat/sessions", "chat-list"],
  [`#/chats/${made.context}`, "GET /chat/sessions/*/messages", "conversation"],
  ["#/turns", "GET /chat/requests", "turn-list"],
  [`#/turns/${made.turn}`, "GET /chat/requests/*", "turn-head"],
  [`#/turns/${made.turn}`, "GET /trace/traces/*/events", "timeline"],
  [`#/turns/${made.turn}?tab=calls`, "GET /chat/requests/*/calls", "call-list"],
  [`#/turns/${made.turn}?tab=calls&call=${made.turn}.call-0`, "GET /calls/*/manifest", "manifest"],
  [`#/turns/${made.turn}?tab=calls&call=${made.turn}.call-0`, "GET /calls/*/request", "body"],
  [`#/turns/${made.turn}?node=n1`, "GET /trace/traces/*/nodes/*", "node"],
  ["#/contexts", "GET /contexts", "context-table"],
  [`#/contexts/${made.context}`, "GET /contexts/*", "context"],
  [`#/contexts/${made.context}`, "GET /contexts/*/items", "items"],
  [`#/contexts/${made.context}?tab=archive`, "GET /contexts/*/items", "archive"],
  ["#/memory/user", "GET /memory/user", "key-table"],
  ["#/memory/user?key=place", "GET /memory/user/keys/*", "value"],
  ["#/usage", "GET /usage", "totals"],
  ["#/agents", "GET /agent/assistants", "agent-list"],
  ["#/agents/welcome", "GET /app/agents/*", "agent"],
  ["#/agents/welcome?tab=prompts", "POST /app/agents/*/prompts", "prompts"],
  ["#/agents/welcome?tab=tools", "GET /app/agents/*/tools", "tools"],
  ["#/data", "GET /data/models", "model-list"],
  ["#/data/m0", "GET /data/models/*", "model"],
  ["#/data/m0", "POST /data/models/*/query", "rows"],
  ["#/knowledge", "GET /kb/collections", "collections"],
  ["#/knowledge/shop", "GET /kb/collections/*", "collection"],
  ["#/knowledge/shop", "GET /kb/collections/*/documents", "documents"],
  [`#/knowledge/shop?document=${made.document}`, "GET /kb/documents/*", "document"],
  [`#/knowledge/shop?document=${made.document}`, "GET /kb/documents/*/segments", "chunks"],
  ["#/knowledge/shop?tab=search&q=lamps", "POST /kb/search", "search"],
  ["#/access?tab=keys", "GET /keys", "keys"],
  ["#/access?tab=rules", "GET /access/rules", "rules"],
  ["#/access?tab=explain&who=user&what=GET%20%2Fkeys", "POST /access/explain", "explain"],
  ["#/system", "GET /system", "health"],
  ["#/system", "GET /system/leases", "leases"],
  ["#/system?tab=problems", "GET /app/problems", "problems"],
  ["#/system?tab=metrics", "GET /metrics", "metrics"],
];

/** In which state the part is then, and how often a read was asked until it is. What asks by a POST is not asked again by itself. */
const ANSWERS = {
  401: ["login", 1], 403: ["denied", 1], 404: ["gone", 1], 409: ["error", 1], 410: ["gone", 1], 429: ["error", 4], 500: ["error", 1], 503: ["error", 4],
  cut: ["lost", 2],
};

/**
 * In the page, before anything is loaded: `fault.set(operation, status)` answers that operation so, and `"cut"` breaks its connection. A 401
 * is the session's too, until somebody logs in. Pauses are short, so that what is tried again is so soon.
 */
function addFaults() {
  const fault = { operation: "", status: null, asked: [], total: 0 };
  fault.set = (operation, status) => Object.assign(fault, { operation, status, asked: [] });
  const later = window.setTimeout;
  window.setTimeout = (act, pause, ...rest) => later(act, pause >= 1000 && pause <= 30_000 ? pause / 50 : pause, ...rest);
  const isMeant = (method, path) => {
    if (fault.operation === "") return false;
    const [known, pattern] = fault.operation.split(" ");
    const [parts, given] = [pattern.split("/"), path.replace(/^\/v1/, "").split("/")];
    return known === method && parts.length === given.length && parts.every((part, at) => part === "*" || part === given[at]);
  };
  const answered = window.fetch;
  window.fetch = async (address, options = {}) => {
    const { method = "GET" } = options;
    const { pathname } = new URL(address, location.href);
    const isSession = pathname === "/v1/session";
    // Whoever logs in is whom the session was of.
    if (isSession && method === "POST") return answered(address, { headers: options.headers });
    const isAsked = isMeant(method, pathname);
    if (isAsked) fault.total += 1;
    if (fault.status === null || !(isAsked || (fault.status === 401 && isSession))) return answered(address, options);
    fault.asked.push(options.headers?.["Idempotency-Key"] ?? null);
    if (fault.status === "cut") throw new TypeError("Failed to fetch");
    const error = { code: `code_${fault.status}`, message: `refused with ${fault.status}`, request_id: "req-of-the-fault", details: { keys: true } };
    return new Response(JSON.stringify({ error }), { status: fault.status, headers: { "Content-Type": "application/json", "Retry-After": "0" } });
  };
  window.fault = fault;
}

async function openFaulty(hash) {
  const uncaught = [];
  const watch = async (page) => {
    page.on("pageerror", (error) => uncaught.push(error.message));
    await page.addInitScript(addFaults);
    await page.addInitScript(addWaits);
  };
  // A feed that tells of changes has lists read again.
  const { "GET /events": _, ...answers } = hostileAnswers();
  // A hook that can be tried.
  answers["GET /app/agents/*"].hooks = [{ name: "Create", file: "src/index.ts", line: 1 }];
  answers["GET /chat/sessions/*"] = ({ query }) => ({ body: made.chats[query.get("context")] });
  const row = { id: "row0", key: "k", agent_name: "welcome", user_id: null, chat_name: null, items: 1, agents: ["welcome"], reason: null };
  for (const action of ["clear", "remove"]) answers[`POST /contexts/${action}`] = { done: [row], unchanged: [], skipped: [], failed: [] };
  return { ...(await openRecorded(ambit, hash, answers, { watch })), uncaught };
}

/** In the page: waits until something is there. */
function addWaits() {
  window.untilFound = (find) =>
    new Promise((resolve) => {
      const found = find();
      if (found) return resolve(found);
      const observer = new MutationObserver(() => {
        const found = find();
        if (!found) return;
        observer.disconnect();
        resolve(found);
      });
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    });
}

/** In the page: goes to the address under each of the faults, and tells what was shown; what can be tried again is. */
async function showFaults([hash, operation, name, answers]) {
  const part = (...states) => states.map((state) => document.querySelector(`[data-part="${name}"][data-state="${state}"]`)).find(Boolean);
  const find = { login: () => document.querySelector('main[data-view="login"] form'), lost: () => document.querySelector('[data-part="connection-lost"]') };
  // The lines of metrics begin with their second reading.
  const isOver = () => part("ready", "empty", ...(name === "metrics" ? ["loading"] : []));
  const seen = [];
  for (const [status, state] of answers) {
    window.fault.set(operation, status);
    location.hash = hash;
    const shown = await window.untilFound(find[state] ?? (() => part(state)));
    while (state === "lost" && window.fault.asked.length < 2) await new Promise((resolve) => requestAnimationFrame(resolve));
    seen.push({ status, asked: window.fault.asked.length, text: shown.innerText, hash: location.hash });
    window.fault.set(operation, null);
    if (state === "error") shown.querySelector('[data-action="try-again"]').click();
    if (state === "login") {
      const field = shown.querySelector('input[name="secret"]');
      field.value = "key";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      shown.requestSubmit();
    }
    if (["error", "login", "lost"].includes(state)) await window.untilFound(isOver);
    if (state === "lost") await window.untilFound(() => !find.lost());
    location.hash = "#/nowhere";
    await window.untilFound(() => !document.querySelector(`[data-part="${name}"]`));
  }
  return seen;
}

test("each read that is refused leaves its part in the state that the refusal means, and goes on", async () => {
  const { page, uncaught } = await openFaulty("#/nowhere");
  await page.locator("main h1").waitFor();
  for (const [hash, operation, name] of READS()) {
    const isRead = operation.startsWith("GET");
    const stateOf = (status) => (status === "cut" && !isRead ? "error" : ANSWERS[status][0]);
    const answers = Object.keys(ANSWERS).map((status) => [Number(status) || status, stateOf(status)]);
    const seen = await within(page, page.evaluate(showFaults, [hash, operation, name, answers]), `${operation} at ${hash}`);
    for (const { status, asked, text, hash: kept } of seen) {
      assert.equal(kept, hash, `the address after ${status}`);
      const where = `${operation} ${status} at ${hash}: asked ${asked} times, ${text}`;
      // A view may read more than once.
      assert.ok(asked >= (isRead ? ANSWERS[status][1] : 1), where);
      const error = status === "cut" ? ["cannot be reached", "connection_lost"] : [`refused with ${status}`, `code_${status}`, "req-of-the-fault"];
      for (const one of { denied: [operation.split(" ")[0]], error }[stateOf(status)] ?? []) assert.ok(text.includes(one), where);
    }
  }
  assert.deepEqual(uncaught, []);
});

/**
 * What changes something: which actions open its form, what is typed, and what is sent. Where there is no form, actions are pressed; a
 * refusal that is `silent` says that what was wanted is so.
 */
const WRITES = () => [
  { hash: `#/chats/${made.context}`, form: '[data-part="composer"]', fields: { message: "typed" }, operation: "POST /chat/completions", isStart: true },
  { hash: `#/chats/${made.context}`, opens: ["regenerate"], fields: {}, operation: "POST /chat/completions", isStart: true },
  { hash: `#/chats/${made.context}`, press: ["archive"], fields: {}, operation: "PUT /chat/sessions/*" },
  { hash: `#/chats/${made.context}`, press: ["share"], fields: {}, operation: "PUT /chat/sessions/*" },
  { hash: `#/chats/${made.busy}`, form: made.busyComposer, fields: { message: "typed" }, operation: "POST /chat/completions/*/append" },
  { hash: `#/chats/${made.busy}`, press: ["stop"], silent: [404, 409], fields: {}, operation: "POST /chat/requests/*/cancel" },
  { hash: `#/turns/${made.running}`, opens: ["append"], fields: { message: "typed" }, operation: "POST /chat/completions/*/append" },
  { hash: `#/turns/${made.running}`, opens: ["interrupt"], fields: { message: "typed" }, operation: "POST /chat/completions/*/append" },
  { hash: `#/turns/${made.running}`, press: ["stop"], fields: {}, operation: "POST /chat/requests/*/cancel" },
  { hash: `#/chats/${made.context}`, opens: ["rename"], fields: { title: "typed" }, operation: "PUT /chat/sessions/*" },
  { hash: `#/chats/${made.context}`, opens: ["remove"], fields: {}, operation: "DELETE /chat/sessions/*" },
  { hash: "#/contexts/row0", opens: ["clear"], fields: {}, operation: "POST /contexts/*/clear" },
  { hash: "#/contexts/row0", opens: ["remove"], fields: {}, operation: "DELETE /contexts/*" },
  { hash: "#/contexts", opens: ["clear-all"], fields: { confirm: "1" }, operation: "POST /contexts/clear" },
  { hash: "#/contexts", opens: ["remove-all"], fields: { confirm: "1" }, operation: "POST /contexts/remove" },
  { hash: "#/memory/user?key=place", form: "main form:has(textarea)", fields: { value: '"typed"' }, operation: "PUT /memory/user/keys/*" },
  { hash: "#/memory/user?key=place", opens: ["remove"], fields: {}, operation: "DELETE /memory/user/keys/*" },
  { hash: "#/memory/user", opens: ["new"], fields: { key: "typed", value: '"typed"' }, operation: "PUT /memory/user/keys/*" },
  { hash: "#/agents/welcome?tab=tools", opens: ["try-tool"], fields: { "argument-0": "typed" }, operation: "POST /app/agents/*/tools/*" },
  { hash: "#/agents/welcome?tab=hooks", opens: ["try-hook"], fields: { chat_id: "typed" }, operation: "POST /app/agents/*/hooks/*" },
  { hash: "#/knowledge", opens: ["new"], fields: { id: "typed", name: "Typed" }, operation: "POST /kb/collections" },
  { hash: "#/knowledge/shop", opens: ["add-text"], fields: { name: "typed.md", text: "typed" }, operation: "POST /kb/collections/*/documents" },
  { hash: "#/knowledge/shop", opens: ["add-url"], fields: { url: "https://example.org/" }, operation: "POST /kb/collections/*/documents" },
  { hash: "#/knowledge/shop", opens: ["reindex"], fields: {}, operation: "POST /kb/collections/*/reindex" },
  { hash: "#/knowledge/shop", opens: ["remove-collection"], fields: { confirm: "shop" }, operation: "DELETE /kb/collections/*" },
  { hash: `#/knowledge/shop?document=${made.document}`, opens: ["remove"], fields: {}, operation: "DELETE /kb/documents/*" },
  { hash: "#/access?tab=keys", opens: ["new"], fields: { label: "typed", user_id: "typed" }, operation: "POST /keys" },
  { hash: "#/access?tab=keys", opens: ["revoke"], fields: {}, operation: "DELETE /keys/*" },
  { hash: "#/access", opens: ["identity", "act-as"], fields: { user_id: "typed" }, operation: "POST /session/act-as" },
  { hash: "#/system?tab=doctor", press: ["doctor"], fields: {}, operation: "POST /system/doctor" },
  { hash: "#/system?tab=doctor", press: ["repair", "confirm"], fields: {}, operation: "POST /system/repair" },
];
const REFUSALS = [403, 404, 409, 410, 429, 500, 503, "cut"];

/** In the page: sends the form under each of the faults, and tells what was said, what is left of what was typed, and what was sent. */
async function sendUnderFaults([{ hash, opens = [], press, form = "dialog[open] form", fields, operation, silent = [], isStart = false }, refusals]) {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const click = async (action) => (await window.untilFound(() => document.querySelector(`[data-action="${action}"]:not(:disabled)`))).click();
  const send = async () => {
    for (const action of press ?? []) await click(action);
    if (press) return;
    await window.untilFound(() => document.querySelector(`${form} [type="submit"]:not(:disabled)`));
    document.querySelector(form).requestSubmit();
  };
  // A part that is denied names the operation.
  const said = () => [...document.querySelectorAll('[role="alert"], [data-state="denied"]')].map((one) => one.innerText);
  window.fault.set(operation, null);
  location.hash = hash;
  for (const action of opens) await click(action);
  const place = press ? `[data-action="${press[0]}"]` : form;
  await window.untilFound(() => document.querySelector(place));
  const field = (name) => document.querySelector(form).querySelector(`[name="${name}"]`);
  const seen = [];
  window.fault.total = 0;
  for (const status of refusals) {
    window.fault.set(operation, status);
    for (const [name, text] of Object.entries(fields)) {
      const input = await window.untilFound(() => field(name));
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    await send();
    // The start of a turn alone is repeated, under the same key, until the server is reached.
    while (isStart && status === "cut" && window.fault.asked.length < 3) await frame();
    if (isStart && status === "cut") window.fault.status = 500;
    const wanted = window.fault.status === "cut" ? "the server cannot be reached" : `refused with ${window.fault.status}`;
    const isSaid = (text) => text.includes(wanted) || (status === 403 && text.includes(operation));
    while (window.fault.asked.length === 0) await frame();
    if (silent.includes(status)) for (let frames = 0; frames < 2; frames += 1) await frame();
    else await window.untilFound(() => said().some(isSaid));
    const left = Object.fromEntries(Object.keys(fields).map((name) => [name, field(name)?.value]));
    seen.push({ status, left, isSaid: said().some(isSaid), keys: [...new Set(window.fault.asked)], asked: window.fault.asked.length });
  }
  const { total } = window.fault;
  location.hash = "#/nowhere";
  document.querySelector("dialog[open] [data-action=close]")?.click();
  await window.untilFound(() => !document.querySelector(place));
  return { seen, total };
}

/** A chat in which a turn runs, and how to find where one writes once it is followed. */
async function startBusy(server) {
  await say(server, "busy", "Hello", "slow");
  made.busy = await contextOf(server, "busy", "slow");
  made.running = await begin(server, "slow", "busy", "Speak slowly");
  made.chats[made.busy] = { ...(await readChat(server, made.busy)), running: made.running };
  made.busyComposer = `.chat:has([data-request="${made.running}"] .message[data-type="text"]) [data-part="composer"]`;
}

test("each write that is refused says why, loses nothing that was typed, and is sent once", async () => {
  await startBusy(ambit.server);
  const { page, uncaught } = await openFaulty("#/nowhere");
  await page.locator("main h1").waitFor();
  for (const write of WRITES()) {
    const { seen, total } = await within(page, page.evaluate(sendUnderFaults, [write, REFUSALS]), `${write.operation} at ${write.hash}`);
    for (const { status, left, isSaid, keys, asked } of seen) {
      const where = `${write.operation} ${status} at ${write.hash}`;
      assert.deepEqual([left, isSaid], [write.fields, !write.silent?.includes(status)], where);
      if (write.isStart) assert.deepEqual([keys.length, typeof keys[0], asked > 1], [1, "string", status === "cut"], where);
      else assert.deepEqual([keys, asked], [[null], 1], where);
    }
    if (!write.isStart) assert.equal(total, REFUSALS.length, `${write.operation} is sent once each time`);
  }
  assert.deepEqual(uncaught, []);
});

/** Names what hangs. */
async function within(page, work, where) {
  const late = AbortSignal.timeout(LIMIT);
  const end = new Promise((_, reject) => late.addEventListener("abort", () => reject(new Error(`${where} does not end`))));
  return Promise.race([work, end]).catch(async (cause) => {
    const states = await page.locator("main [data-state]").evaluateAll((parts) => parts.map((part) => `${part.dataset.part} ${part.dataset.state}`));
    assert.fail(`${where}: ${cause.message}; ${page.url()} ${states}`);
  });
}
