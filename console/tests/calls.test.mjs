import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage } from "./support/browser.mjs";
import { useConsole } from "./support/console.mjs";
import { KEYS, makeKey, say, startServer } from "./support/server.mjs";
import { giveAnswers, recordedCall } from "./support/turns.mjs";
import { settles } from "./support/wait.mjs";

const APP = "../console/tests/apps/turns";
/** A preset whose text follows what is said, options of the package, and a model that says how much it takes. */
const FILES = {
  "assistants/shop/src/index.ts": `function Create(ctx, messages) {
  return { prompt_preset: "chat.friendly", metadata: { tone: /please/.test(messages.at(-1).content) ? "kind" : "short" } };
}
`,
  "assistants/shop/prompts/chat/friendly.yml": "- role: system\n  content: |\n    You sell lamps.\n    Be $CTX.tone.\n",
  "assistants/shop/package.yao": JSON.stringify({
    name: "Shop", public: true, connector: "scripted", mcp: { servers: ["stock"] }, options: { temperature: 0.5, stop: ["never said"] },
  }),
  "connectors/scripted.conn.yao": JSON.stringify({
    type: "scripted",
    options: {
      model: "scripted-1", capabilities: { tool_calls: true, max_input_tokens: 8000 },
      rules: [
        { match: { last_user: "lamps", round: 0 }, tool_calls: [{ name: "stock__find", arguments: { item: "lamp" } }] },
        { match: { has_tool_result: true }, reply: "The stock says: {{last_tool_result}}" },
      ],
    },
  }),
};

const made = {};
const ambit = useConsole(APP, async (server) => {
  const ask = async (chat, text) => (await say(server, chat, text, "shop")).ambit.request_id;
  made.first = await ask("one", "How many lamps are there?");
  made.second = await ask("one", "And lamps on the shelf, please?");
  made.forgotten = await ask("two", "How many lamps are there?");
  made.after = await ask("two", "And lamps on the shelf?");
}, FILES);

const read = async (path) => (await fetch(`${ambit.server.api}${path}`)).json();
const row = (page, n) => page.locator(`[data-field="blocks"] tr[data-id="${n}"]`);
const hashOf = (request, call, more = "") => `#/turns/${request}?tab=calls&call=${request}.call-${call}${more}`;
const textOf = (locator) => locator.evaluateAll((all) => all.map((one) => one.textContent.trim()));

test("a call shows its blocks with their contents, its options and tools, and what of the body a block became", async () => {
  const { page, part, check } = await ambit.open(`#/turns/${made.first}?tab=calls`);
  await part("call-list").waitFor({ state: "attached" });
  await settles(() => page.locator('[data-part="call-list"] tr[data-id]').count(), 2);
  await page.locator(`tr[data-id="${made.first}.call-1"] a`).click();
  await part("manifest").waitFor({ state: "attached" });
  await page.waitForURL(new RegExp(`call=${made.first}.call-1`));
  const manifest = await read(`/calls/${made.first}.call-1/manifest`);
  assert.deepEqual(manifest.blocks.map(({ kind }) => kind), ["preset", "request", "answer", "tool_result"]);
  await page.getByText(`${manifest.tokens.estimated} of 8,000 tokens`).waitFor();
  const kinds = () => page.locator('[data-field="tokens"] tr[data-kind]').evaluateAll((rows) => rows.map((one) => one.dataset.kind).sort());
  await settles(kinds, ["answer", "preset", "request", "tool_result", "tools"]);
  const cells = (n) => textOf(row(page, n).locator("td:nth-child(-n+3)"));
  for (const { n, role, kind } of manifest.blocks) await settles(() => cells(n), [String(n), role, kind]);
  await row(page, 0).getByText("assistants/shop/prompts/chat/friendly.yml").waitFor();
  await settles(() => textOf(page.locator('[data-field="settings"] tr[data-id="temperature"] td:nth-child(2)')), ["0.5"]);

  for (const { n } of manifest.blocks) {
    await row(page, n).locator('[data-action="show-block"]').click();
    await part("content").waitFor({ state: "attached" });
    await page.locator('[data-part="content"] code', { hasText: manifest.blocks[n].hash }).waitFor();
    await page.locator(`[data-part="body"] li.marked[data-pointer="/messages/${n}"]`).waitFor();
    await settles(() => page.locator("li.marked").count(), 1);
  }
  await row(page, 0).locator('[data-action="show-block"]').click();
  await page.locator('[data-part="content"] .json', { hasText: "Be short." }).waitFor();
  await page.locator('[data-action="show-tool"]').click();
  await page.locator('[data-field="tools"] .json', { hasText: "How many of an item there are" }).waitFor();
  await page.getByText("These are the bytes that were sent.").waitFor();
  check();
});

test("calls of one turn are compared, and calls of two: equal blocks, changed lines, added ones", async () => {
  const { page, part, check } = await ambit.open(hashOf(made.first, 1));
  const changes = () => page.locator("li[data-change]").evaluateAll((all) => all.map((one) => one.dataset.change));
  await part("manifest").waitFor({ state: "attached" });
  await page.locator('select[name="diff"]').selectOption(`${made.first}.call-0`);
  await page.waitForURL(/diff=/);
  await part("diff").waitFor({ state: "attached" });
  await settles(changes, ["same", "same", "added", "added"]);

  const other = await ambit.open(hashOf(made.second, 0, `&diff=${made.first}.call-0`));
  await other.part("diff").waitFor({ state: "attached" });
  const pairs = () => other.page.locator("li[data-change]").evaluateAll((all) => all.map((one) => one.dataset.change));
  await settles(pairs, ["changed", "same", "added", "added", "added", "added"]);
  await other.page.locator("h4", { hasText: `${made.first}.call-0` }).waitFor();
  await settles(() => other.page.locator('select[name="diff"]').inputValue(), `${made.first}.call-0`);
  await other.page.locator('li[data-change="changed"] [data-action="show-lines"]').click();
  await other.part("lines").waitFor({ state: "attached" });
  const lines = () =>
    other.page.locator("pre [data-change]").evaluateAll((all) => all.map((one) => `${one.dataset.change} ${one.textContent.slice(2).trim()}`));
  await settles(lines, ["same You sell lamps.", "gone Be short.", "added Be kind."]);
  check();
  other.check();
});

test("blocks lead to the messages and files that they were, and steps to their calls", async () => {
  const { page, part, check } = await ambit.open(hashOf(made.second, 0));
  await part("manifest").waitFor({ state: "attached" });
  const { blocks } = await read(`/calls/${made.second}.call-0/manifest`);
  assert.deepEqual(blocks.slice(1, 5).map(({ kind, role }) => `${kind} ${role}`), ["user", "assistant", "tool", "assistant"].map((role) => `history ${role}`));
  // A result is shown as part of its call.
  for (const [n, message] of [[1, "U1"], [2, "M1"], [3, "M1"], [4, "M2"]]) {
    await row(page, n).locator(".source a").click();
    await page.locator(`[data-id="${made.first}.${message}"].wanted`).waitFor();
    await page.goBack();
    await part("manifest").waitFor({ state: "attached" });
  }
  await row(page, 0).locator(".source a").click();
  await page.locator('li[data-id="prompts/chat/friendly.yml"] pre', { hasText: "You sell lamps." }).waitFor();
  await page.goBack();
  await part("manifest").waitFor({ state: "attached" });
  await page.locator('[data-action="open-node"]').click();
  await part("node").waitFor({ state: "attached" });
  await page.locator('[data-action="open-call"]').click();
  await page.waitForURL(new RegExp(`call=${made.second}.call-0`));
  await part("manifest").waitFor({ state: "attached" });
  check();
});

test("where the trace went with what was erased there are no calls, and it says so", async () => {
  const removed = await fetch(`${ambit.server.api}/responses/resp_${made.forgotten}`, { method: "DELETE" });
  assert.equal(removed.status, 200, await removed.text());
  // The browser itself writes a line for the 404, so the page is not checked.
  const { page, part } = await ambit.open(hashOf(made.after, 0));
  await part("call-list", "gone").waitFor();
  await page.getByText("There is no trace of this turn").waitFor();
});

test("what was left out, overruled, read before or not kept is told", async () => {
  const prepare = (page) => giveAnswers(page, ambit.server, recordedCall(made.first));
  const { page, part, check } = await ambit.open(hashOf(made.first, 0), { prepare });
  await part("manifest").waitFor({ state: "attached" });
  await page.locator('[data-part="left-out"]', { hasText: "history_size" }).waitFor();
  await settles(() => textOf(page.locator('[data-field="settings"] tr[data-id="temperature"] s')), ["1", "0.7"]);
  await page.locator('[data-field="reads"]', { hasText: "user · name" }).waitFor();
  await page.getByText("2 · too many requests · no answer").waitFor();
  await row(page, 0).getByText("12 messages").waitFor();
  await row(page, 1).getByText("tool_result_limit 0 −700").waitFor();
  for (const [n, text] of [[0, "It was erased."], [3, "It was not kept"]]) {
    await row(page, n).locator('[data-action="show-block"]').click();
    await page.locator('[data-part="content"]', { hasText: text }).waitFor();
  }
  await page.locator('[data-action="show-reference"]').click();
  await page.locator('[data-part="reference"]', { hasText: "All about lamps" }).waitFor();
  await page.keyboard.press("Escape");
  await part("reference").waitFor({ state: "detached" });
  await page.locator('[data-action="show-tool"]').click();
  await page.locator('[data-part="content"]', { hasText: "It has expired." }).waitFor();
  for (const text of ["blocks are gone: 0, 3", "tools are gone: 0", "Not shown: token"]) await page.locator('[data-part="body"]', { hasText: text }).waitFor();
  check();
});

test("g192_who_may_not_read_the_app_sees_where_blocks_come_from_and_no_word_of_it", async () => {
  const server = await startServer(APP, { ...FILES, ...KEYS });
  try {
    const key = await makeKey(server, "ann", "user");
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const body = JSON.stringify({ model: "shop", chat_id: "one", messages: [{ role: "user", content: "How many lamps are there?" }] });
    const answer = await fetch(`${server.api}/chat/completions`, { method: "POST", headers, body });
    const request = answer.headers.get("x-ambit-request");
    await answer.text();
    const next = await fetch(`${server.api}/chat/completions`, { method: "POST", headers, body });
    const later = next.headers.get("x-ambit-request");
    await next.text();
    // The browser itself writes a line for the 401, so the page is not checked.
    const { page, part } = await openPage(ambit.browser, `http://127.0.0.1:${server.port}`, hashOf(later, 0));
    await page.locator('input[name="secret"]').fill(key);
    await page.locator('[data-action="log-in"]').click();
    await part("manifest").waitFor({ state: "attached" });
    await row(page, 0).getByText("assistants/shop/prompts/chat/friendly.yml").waitFor();
    assert.equal(await row(page, 0).locator("a").count(), 0);
    await row(page, 0).locator('[data-action="show-block"]').click();
    await part("content", "denied").getByText("GET /calls/:id/blocks/:n").waitFor();
    assert.equal(await page.locator('[data-part="body"]').count(), 0);
    const settings = (name) => textOf(page.locator(`[data-field="settings"] tr[data-id="${name}"] td:nth-child(2)`));
    await settles(() => settings("temperature"), ["0.5"]);
    await settles(() => settings("stop"), ["withheld, 14 bytes"]);
    await page.locator('[data-action="show-tool"]').click();
    await settles(() => part("content", "denied").count(), 2);
    assert.ok(!/You sell lamps|never said|How many of an item/.test(await page.locator("main").textContent()));
    await row(page, 1).locator('[data-action="show-block"]').click();
    await page.locator('[data-action="open-message"]').click();
    await page.locator(`[data-id="${request}.U1"].wanted`, { hasText: "How many lamps are there?" }).waitFor();
  } finally {
    await server.stop();
  }
});
