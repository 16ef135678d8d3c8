import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { settles } from "./support/wait.mjs";

const ambit = useConsole("welcome");
const FILE = { path: "src/index.ts", bytes: 40, version: "v1" };
const AGENT = {
  assistant_id: "welcome", type: "assistant",
  settings: { name: { value: HOSTILE, from: "assistants/welcome/package.yao" }, max_turns: { value: 10, from: "default" } },
  connector: { id: "main", type: "openai", model: "m-1", capabilities: { vision: true, audio: false } },
  servers: ["shop"], hooks: [{ name: "Create", file: "src/index.ts", line: 3 }, { name: "helper", file: "src/index.ts", line: 9 }],
  files: [FILE, { path: "prompts.yml", bytes: 10, version: "v2" }],
  problems: [{ severity: "warning", file: "package.yao", line: 2, column: null, message: "no effect" }],
};
const TOOLS = {
  items: [{
    name: "shop__find", server: "shop", tool: "find", description: HOSTILE, tokens: 12,
    parameters: { type: "object", required: ["text"], properties: { text: { type: "string" }, count: { type: "integer" }, filter: { type: "object" } } },
  }],
  servers: [{ id: "shop", transport: "process", state: "ready", error: null }],
};
const APP = {
  "GET /app/agents": { items: [AGENT, { ...AGENT, assistant_id: "helper", type: "worker" }] },
  "GET /app/agents/*": AGENT,
  "GET /app/agents/*/tools": TOOLS,
};

test("everybody sees cards with the way to chat, and what they may not see is said", async () => {
  const grants = ["GET /agent/assistants", "GET /agent/assistants/:id", "POST /chat/completions", "GET /chat/sessions"];
  const { page, part, check } = await openRecorded(ambit, "#/agents", {}, { grants });
  await part("agent-list").waitFor({ state: "attached" });
  const answer = await (await fetch(`${ambit.server.api}/agent/assistants?page=1&pagesize=50`)).json();
  const shown = () => page.locator('[data-part="agent-list"] li[data-id]').evaluateAll((cards) => cards.map((card) => card.dataset.id));
  await settles(shown, answer.data.map((agent) => agent.assistant_id));
  assert.match(await page.locator('[data-action="chat"]').first().getAttribute("href"), /^#\/chats\/new\?assistant_id=/);
  assert.match(await page.locator('[data-note="not-granted"]').textContent(), /GET \/app\/agents/);
  await page.locator("a[data-card]").first().click();
  await part("overview").waitFor();
  assert.equal(await page.locator('[data-part="agent"] ~ [role="tab"], .item [role="tab"]').count(), 1);
  check();
});

test("filters are in the URL, and no match says to lift one", async () => {
  const { page, part, check } = await openRecorded(ambit, "#/agents", { "GET /app/agents": { items: [] } });
  await page.locator('input[name="keywords"]').fill("nothing like it");
  await part("agent-list", "empty").waitFor();
  assert.match(page.url(), /keywords=nothing/);
  await page.reload();
  await part("agent-list", "empty").waitFor();
  check();
});

test("operators see settings with their origin, and workers; names are text", async () => {
  const { page, part, check } = await openRecorded(ambit, "#/agents", APP);
  await page.locator('li[data-id="helper"]').waitFor();
  await page.locator('li[data-id="welcome"]', { hasText: "Problems: 1" }).waitFor();
  await page.locator("a[data-card]").first().focus();
  await page.keyboard.press("Enter");
  await part("overview").waitFor();
  await page.locator('tr[data-id="max_turns"]', { hasText: "default" }).waitFor();
  await assertText(page, "overview");
  check();
});

test("prompts are rendered for what the URL names, and again after a reload", async () => {
  const prompts = ({ body }) => {
    const content = `${HOSTILE} in ${body.mode} with ${body.metadata?.tone}`;
    return { body: { messages: [{ role: "system", content, tokens: 9, kind: "prompt", source: { file: "prompts.yml", index: 0 } }], warnings: [] } };
  };
  const { page, part, action, check } = await openRecorded(ambit, "#/agents/welcome?tab=prompts&mode=task", { ...APP, "POST /app/agents/*/prompts": prompts });
  await page.locator("pre", { hasText: "in task with undefined" }).waitFor();
  await page.reload();
  await page.locator('input[name="metadata"]').fill('{"tone": "kind"}');
  await action("render").click();
  await page.locator("pre", { hasText: "in task with kind" }).waitFor();
  await assertText(page, "prompts");
  await part("prompts").waitFor({ state: "attached" });
  check();
});

test("files are read when they are unfolded", async () => {
  const answers = { ...APP, "GET /app/agents/*/files/src/index.ts": () => ({ type: "text/plain", body: "export function Create() {}" }) };
  const { page, requests, check } = await openRecorded(ambit, "#/agents/welcome?tab=files", answers);
  await page.locator(`li[data-id="${FILE.path}"] summary`).waitFor();
  assert.equal(requests.some(({ path }) => path.includes("/files/")), false);
  await page.locator(`li[data-id="${FILE.path}"] summary`).click();
  await page.locator("pre", { hasText: "export function Create" }).waitFor();
  check();
});

test("a tool is called with a form from its schema", async () => {
  const call = ({ body }) => ({ body: { content: [{ type: "text", text: body.arguments.text }], isError: body.arguments.text === "bad", duration_ms: 12 } });
  const { page, part, action, requests, check } = await openRecorded(ambit, "#/agents/welcome?tab=tools", { ...APP, "POST /app/agents/*/tools/*": call });
  await part("tools").waitFor({ state: "attached" });
  await assertText(page, "tools");
  await action("try-tool").click();
  await page.getByText("This is a real call").waitFor();
  await page.locator('[name="argument-0"]').fill("shoes");
  await page.locator('[name="argument-1"]').fill("3");
  await page.locator('[name="argument-2"]').fill("{");
  await action("call-tool").click();
  await page.locator('dialog [role="alert"]', { hasText: "filter is no JSON" }).waitFor();
  await page.locator('[name="argument-2"]').fill('{"a": 1}');
  await action("call-tool").click();
  await page.locator('[data-part="tool-result"][data-error="false"]').waitFor();
  const sent = requests.find(({ method, path }) => method === "POST" && path.endsWith("/tools/shop__find"));
  assert.deepEqual(sent.body, { arguments: { text: "shoes", count: 3, filter: { a: 1 } } });
  await page.locator('[name="argument-0"]').fill("bad");
  await action("call-tool").click();
  await page.locator('[data-part="tool-result"][data-error="true"]').waitFor();
  check();
});

test("a hook is tried on a copy of the memory, and its error has file and line", async () => {
  const error = { message: "no name", code: "script_error", file: "src/index.ts", line: 4, stack: "at Create" };
  const memory = [{ space: "user", key: HOSTILE, op: "set" }];
  const answers = { ...APP, "POST /app/agents/*/hooks/*": { result: null, messages: [], memory, trace_id: "t1", cpu_ms: 3, error } };
  const { page, part, action, requests, check } = await openRecorded(ambit, "#/agents/welcome?tab=hooks", answers);
  await part("hooks").waitFor({ state: "attached" });
  assert.equal(await action("try-hook").count(), 1);
  await action("try-hook").focus();
  await page.keyboard.press("Enter");
  await action("run-hook").click();
  await part("hook-result").waitFor();
  await page.locator('[data-part="hook-result"] code', { hasText: "src/index.ts:4" }).waitFor();
  await assertText(page, "hook-result");
  assert.equal(requests.find(({ path }) => path.endsWith("/hooks/Create")).body.memory, "scratch");
  check();
});
