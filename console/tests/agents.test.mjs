import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { settles } from "./support/wait.mjs";

/** An agent with names that would run, a tool server that is not there, one that keeps what it is told, and a hook that can fail. */
const FILES = {
  "assistants/welcome/package.yao": JSON.stringify({
    name: "Welcome", description: HOSTILE, connector: "scripted", mcp: { servers: ["notes", "shop"] },
  }),
  "assistants/welcome/prompts/task.yml": JSON.stringify([{ role: "system", content: `${HOSTILE} with [$CTX.tone]` }]),
  "assistants/welcome/src/index.ts": [
    "export function Create(ctx, messages) {",
    "  const said = String(messages[0].content);",
    "  ctx.memory.user.Set(said, true);",
    '  if (said.endsWith("fail")) throw new Error("no name");',
    "}",
    "export const helper = () => 1;",
  ].join("\n"),
  "assistants/helper/package.yao": JSON.stringify({ name: "Helper", type: "worker" }),
  "mcps/notes.mcp.yao": JSON.stringify({ transport: "process", tools: { add: "scripts.notes.Add" } }),
  "mcps/mapping/notes/schemes/add.in.yao": JSON.stringify({
    type: "object", description: HOSTILE, required: ["text"], "x-process-args": ["$args.text", "$args.count", "$args.filter"],
    properties: { text: { type: "string" }, count: { type: "integer" }, filter: { type: "object" } },
  }),
  "scripts/notes.ts": [
    "export function Add(text, count, filter, ctx) {",
    '  if (text === "bad") throw new Error("no such note");',
    '  ctx.memory.user.Set("note", { text, count, filter });',
    "  return { text };",
    "}",
  ].join("\n"),
};
const ambit = useConsole("welcome", undefined, FILES);

/** What the caller's memory has under a key. */
const remembered = (key) => fetch(`${ambit.server.api}/memory/user/keys/${encodeURIComponent(key)}`);

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
  const { page, part, check } = await ambit.open("#/agents");
  await page.locator('input[name="keywords"]').fill("nothing like it");
  await part("agent-list", "empty").waitFor();
  assert.match(page.url(), /keywords=nothing/);
  await page.reload();
  await part("agent-list", "empty").waitFor();
  check();
});

test("operators see settings with their origin, and workers; names are text", async () => {
  const { page, part, check } = await ambit.open("#/agents");
  await page.locator('li[data-id="helper"]').waitFor();
  await page.locator('li[data-id="welcome"]', { hasText: "Problems: 1" }).waitFor();
  await page.locator("a[data-card]").first().focus();
  await page.keyboard.press("Enter");
  await part("overview").waitFor();
  await page.locator('tr[data-id="connector"]', { hasText: "assistants/welcome/package.yao" }).waitFor();
  await page.locator('tr[data-id="mcp.options.max_turn"]', { hasText: "default" }).waitFor();
  await assertText(page, "overview");
  check();
});

test("prompts are rendered for what the URL names, and again after a reload", async () => {
  const { page, part, action, check } = await ambit.open("#/agents/welcome?tab=prompts&mode=task");
  await page.locator("pre", { hasText: "with []" }).waitFor();
  await page.reload();
  await page.locator('input[name="metadata"]').fill('{"tone": "kind"}');
  await action("render").click();
  await page.locator("pre", { hasText: "with [kind]" }).waitFor();
  await page.locator('[data-part="prompts"] code', { hasText: "assistants/welcome/prompts/task.yml:#0" }).waitFor();
  await assertText(page, "prompts");
  await part("prompts").waitFor({ state: "attached" });
  check();
});

test("files are read when they are unfolded", async () => {
  const asked = [];
  const prepare = (page) => page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const { page, check } = await ambit.open("#/agents/welcome?tab=files", { prepare });
  const summary = page.locator('li[data-id="src/index.ts"] summary');
  await summary.waitFor();
  assert.equal(asked.some((path) => path.includes("/files/")), false);
  await summary.click();
  await page.locator("pre", { hasText: "export function Create" }).waitFor();
  check();
});

test("a file that the URL names is open, after a reload too", async () => {
  const wanted = encodeURIComponent("assistants/welcome/src/index.ts");
  const { page, check } = await ambit.open(`#/agents/welcome?tab=files&file=${wanted}`);
  const shown = page.locator('li[data-id="src/index.ts"] pre', { hasText: "export function Create" });
  await shown.waitFor();
  await page.reload();
  await shown.waitFor();
  assert.equal(await page.locator('[data-part="files"] details[open]').count(), 1);
  check();
});

test("a tool is called with a form from its schema", async () => {
  const { page, part, action, check } = await ambit.open("#/agents/welcome?tab=tools");
  await part("tools").waitFor({ state: "attached" });
  await assertText(page, "tools");
  await page.locator('tr[data-id="shop"]', { hasText: "unknown MCP server" }).waitFor();
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
  assert.deepEqual((await (await remembered("note")).json()).value, { text: "shoes", count: 3, filter: { a: 1 } });
  await page.locator('[name="argument-0"]').fill("bad");
  await action("call-tool").click();
  await page.locator('[data-part="tool-result"][data-error="true"]').waitFor();
  check();
});

test("a hook is tried on a copy of the memory, and its error has file and line", async () => {
  const { page, part, action, check } = await ambit.open("#/agents/welcome?tab=hooks");
  await part("hooks").waitFor({ state: "attached" });
  assert.equal(await action("try-hook").count(), 1);
  await action("try-hook").focus();
  await page.keyboard.press("Enter");
  const said = `${HOSTILE} to fail`;
  await page.locator('textarea[name="input"]').fill(JSON.stringify([{ role: "user", content: said }]));
  await action("run-hook").click();
  await part("hook-result").waitFor();
  await page.locator('[data-part="hook-result"] code', { hasText: "assistants/welcome/src/index.ts:4" }).waitFor();
  await page.locator('[data-part="hook-result"] li', { hasText: "Set user" }).waitFor();
  await assertText(page, "hook-result");
  assert.equal((await remembered(said)).status, 404);
  check();
});
