import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertStored, begin, contextOf, said, shownTexts, stored, write } from "./support/chats.mjs";
import { useConsole } from "./support/console.mjs";
import { startModel } from "./support/model.mjs";
import { say } from "./support/server.mjs";
import { startTool } from "./support/tool.mjs";
import { settles } from "./support/wait.mjs";

const APP = "../console/tests/apps/chats";
const TOOL = '.tool[data-tool="fruit__search"]';
const LOST = '[data-part="connection-lost"]';
/** What the browser itself writes of each request that nothing answers. */
const UNREACHED = /^console: Failed to load resource: net::ERR_/;

const folder = await mkdtemp(join(tmpdir(), "ambit-nodes-"));
const [model, tool] = [await startModel(), await startTool()];
const files = { ...model.files, ...tool.files };
const store = freshStore();
const one = useConsole(APP, undefined, files, store);
const two = useConsole(APP, undefined, files, store);
const alone = useConsole(APP, undefined, files);
after(async () => {
  model.close();
  tool.close();
  await rm(folder, { recursive: true, force: true });
});

/** What the nodes share: PostgreSQL where the environment names it, else a file. */
function freshStore() {
  const url = process.env.TEST_POSTGRES_URL;
  if (!url) return `sqlite:${join(folder, "shared.db")}`;
  return `${url}${url.includes("?") ? "&" : "?"}ambit_schema=t${randomBytes(8).toString("hex")}`;
}

/** A chat with this agent, and pages of it at these consoles. */
async function openChat(name, agent, consoles) {
  await say(consoles[0].server, name, "Hello", agent);
  const context = await contextOf(consoles[0].server, name, agent);
  const pages = [];
  for (const console of consoles) {
    const opened = await console.open(`#/chats/${context}`);
    await said(opened.page, "You said: Hello").waitFor();
    await opened.page.evaluate(() => (window.isFirstLoad = true));
    pages.push(opened);
  }
  return { context, pages };
}

/** At each page stands what is stored, and it was never loaded again. */
async function assertAllShow(pages, context, server) {
  const texts = [];
  for (const { page } of pages) {
    await assertStored(server, page, context);
    assert.ok(await page.evaluate(() => window.isFirstLoad), "the page is the one that was opened first");
    texts.push(await shownTexts(page));
  }
  for (const text of texts) assert.deepEqual(text, texts[0]);
}

test("two_browsers_follow_one_turn_from_two_nodes_and_end_with_the_same_text", async () => {
  const { context, pages: [first, second] } = await openChat("shared", "speaker", [one, two]);
  await write(first.page, "Speak slowly");
  for (const { page } of [first, second]) await said(page, "one two three").waitFor();
  const late = await two.open(`#/chats/${context}`);
  await said(late.page, "one two three").waitFor();
  await late.page.evaluate(() => (window.isFirstLoad = true));
  model.release();
  for (const { page } of [first, second, late]) await said(page, "fourteen fifteen").waitFor();
  await assertAllShow([first, second, late], context, one.server);
  // Each can stop what the other one began.
  await write(second.page, "Speak slowly again");
  for (const { page } of [first, second]) await page.locator(".message", { hasText: "one two three" }).nth(1).waitFor();
  await first.action("stop").click();
  for (const { page } of [first, second]) await page.locator(".message .mark", { hasText: "stopped" }).waitFor();
  await assertAllShow([first, second, late], context, two.server);
  for (const { check } of [first, second, late]) check();
});

/** Has a node begin a turn, and waits until the page shows that its tool is at work. */
async function callTool({ server }, chat, page) {
  tool.calls = 0;
  await begin(server, "talker", chat, "Find oranges");
  await settles(() => tool.calls, 1);
  await page.locator(TOOL, { hasText: "…" }).waitFor();
}

/** The call without a result is made once more; then the turn goes on to its whole answer. */
async function assertGoesOn(opened, context, { server }) {
  await settles(() => tool.calls, 2, "a call without a result is made again");
  tool.release();
  await said(opened.page, "The tool says").waitFor();
  await opened.page.locator(TOOL, { hasText: "✓" }).waitFor();
  await assertAllShow([opened], context, server);
  const rows = (await stored(server, context)).slice(2);
  assert.deepEqual(rows.map(({ type, status }) => [type, status]), ["user_input", "thinking", "tool_call", "text"].map((type) => [type, "completed"]));
  assert.match(rows.at(-1).props.content, /^The tool says: .*oranges ripen in winter/);
}

test("a_node_killed_in_a_tool_call_is_replaced_by_another_and_a_page_there_follows_to_the_whole_answer", async () => {
  const { context, pages: [opened] } = await openChat("taken over", "talker", [two]);
  await callTool(one, "taken over", opened.page);
  await one.server.kill();
  await assertGoesOn(opened, context, two);
  opened.check();
  await one.server.restart();
});

test("a_server_killed_in_a_tool_call_is_started_again_and_its_page_follows_to_the_whole_answer", async () => {
  const { context, pages: [opened] } = await openChat("restarted", "talker", [alone]);
  await callTool(alone, "restarted", opened.page);
  await alone.server.kill();
  await opened.page.locator(LOST).waitFor();
  await opened.page.locator(TOOL, { hasText: "…" }).waitFor();
  await alone.server.restart();
  await assertGoesOn(opened, context, alone);
  await opened.page.locator(LOST).waitFor({ state: "detached" });
  opened.check(UNREACHED);
});
