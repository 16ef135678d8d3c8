import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible } from "./support/axe.mjs";
import { useConsole } from "./support/console.mjs";
import { say } from "./support/server.mjs";
import { giveAnswers, longTrace } from "./support/turns.mjs";
import { settles } from "./support/wait.mjs";

const LIST = "GET /chat/requests";
const made = {};
const ambit = useConsole("../console/tests/apps/turns", async (server) => {
  made.shop = (await say(server, "one", "How many lamps are there?", "shop")).ambit.request_id;
  await say(server, "two", "Hello", "broken").catch(() => {});
  const broken = async () => (await (await fetch(`${server.api}/trace/traces?chat_id=two`)).json()).data;
  await settles(async () => (await broken()).length, 1);
  made.broken = (await broken())[0].request_id;
});

const read = async (path) => (await fetch(`${ambit.server.api}${path}`)).json();
const post = (path, body) =>
  fetch(`${ambit.server.api}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const rowIds = (page) => page.locator('[data-part="timeline"] tr[data-id]').evaluateAll((rows) => rows.map((row) => row.dataset.id));
const row = (page, id) => page.locator(`[data-part="timeline"] tr[data-id="${id}"]`);

/** Opens a turn of the server; what that does not answer yet is granted and comes from `answers`. */
async function openTurn(hash, { answers = {}, granted = [], refused = [], ...options } = {}) {
  const grants = [...new Set([...ambit.session.grants, ...granted])].filter((operation) => !refused.includes(operation));
  const prepare = (page) => giveAnswers(page, ambit.server, { "/session": { ...ambit.session, grants }, ...answers });
  const opened = await ambit.open(hash, { ...options, prepare });
  await opened.page.locator('main[data-view="turns"]').waitFor();
  return opened;
}

/** The nodes of a trace as the API has them, by label. */
async function nodesOf(id) {
  const { data } = await read(`/trace/traces/${id}/nodes?pagesize=100`);
  return data;
}

async function startSlowly(chat) {
  const answer = await post("/chat/completions", { model: "slow", chat_id: chat, stream: true, messages: [{ role: "user", content: "Tell me slowly" }] });
  return { id: answer.headers.get("x-ambit-request"), end: answer.text() };
}

test("the timeline has a row for each node, with hooks, calls and tools, and folds what is alike", async () => {
  const { page, part, check } = await openTurn(`#/turns/${made.shop}`);
  await part("timeline").waitFor({ state: "attached" });
  const nodes = await nodesOf(made.shop);
  const fetches = nodes.filter((node) => node.type === "fetch");
  assert.equal(fetches.length, 7);
  const expected = nodes.filter((node) => node.type !== "fetch").map((node) => node.id);
  await row(page, expected.at(-1)).waitFor();
  await settles(async () => (await rowIds(page)).sort(), [...expected, `fold-${fetches[0].id}`].sort());
  const types = await page.locator('[data-part="timeline"] tr[data-id] .type').allTextContents();
  for (const type of ["turn", "hook", "llm", "tool", "step", "fetch"]) assert.ok(types.includes(type), type);
  await page.locator('[data-part="timeline"] .fold', { hasText: "× 7" }).click();
  await row(page, fetches[6].id).waitFor();
  await page.locator('[data-action="fold"]').click();
  await page.waitForURL(/fold=off/);
  await row(page, `fold-${fetches[0].id}`).waitFor({ state: "detached" });
  await page.locator('[data-action="fold"]').click();
  await row(page, fetches[6].id).waitFor({ state: "detached" });
  await page.locator('[data-action="expand-all"]').click();
  await row(page, fetches[6].id).waitFor();
  check();
});

test("a node shows what went in and came out, its lines, and what is found in it", async () => {
  const { page, part, check } = await openTurn(`#/turns/${made.shop}`);
  const node = (await nodesOf(made.shop)).find((one) => one.label === "Look around");
  await row(page, node.id).locator("a").click();
  await part("node").waitFor({ state: "attached" });
  await page.waitForURL(new RegExp(`node=${node.id}`));
  await page.locator('[data-field="input"]', { hasText: "a lamp" }).waitFor();
  await page.locator('[data-field="output"]', { hasText: "found" }).waitFor();
  await page.locator('[data-field="logs"] [data-level="warn"]', { hasText: "it is dark" }).waitFor();
  await page.locator('input[name="find"]').fill("shelf");
  await page.locator(".found code", { hasText: "input.nested.place" }).waitFor();
  await page.goBack();
  await part("node").waitFor({ state: "detached" });
  check();
});

test("a turn leads to its chat, and the chat to its turns", async () => {
  const { page, part, action, check } = await openTurn(`#/turns/${made.shop}`);
  await action("open-chat").click();
  await page.waitForURL(/#\/chats\/./);
  await part("conversation").waitFor({ state: "attached" });
  await page.locator(`[data-request="${made.shop}"] [data-action="open-turn"]`).click();
  await page.waitForURL(new RegExp(`#/turns/${made.shop}$`));
  await part("timeline").waitFor({ state: "attached" });
  check();
});

test("a failing hook is marked, and the head has its error with the stack", async () => {
  const { page, part, check } = await openTurn(`#/turns/${made.broken}`);
  await part("turn-error").waitFor();
  assert.match(await part("turn-error").textContent(), /hook_error.*next is broken.*broken\/src\/index\.ts:2/s);
  const failed = (await nodesOf(made.broken)).find((node) => node.label === "Next");
  await row(page, failed.id).locator(".state.failed").waitFor();
  await page.locator('select[name="node_status"]').selectOption("failed");
  await page.waitForURL(/node_status=failed/);
  await page.waitForFunction(() => document.querySelectorAll('[data-part="timeline"] tr[data-id]').length === 2);
  await row(page, failed.id).locator("a").click();
  await part("node").locator('[role="alert"]', { hasText: "next is broken" }).waitFor();
  check();
});

test("g195_tab_node_and_filters_of_a_turn_survive_a_reload_and_are_the_same_for_others", async () => {
  const node = (await nodesOf(made.shop)).find((one) => one.type === "tool");
  const { page, part, check } = await openTurn(`#/turns/${made.shop}`);
  await page.locator('select[name="type"]').selectOption("tool");
  await page.waitForURL(/type=tool/);
  await row(page, node.id).locator("a").click();
  await part("node").waitFor({ state: "attached" });
  const [url, ids] = [page.url(), await rowIds(page)];
  await page.reload();
  await part("node").waitFor({ state: "attached" });
  await row(page, node.id).waitFor();
  await settles(async () => [page.url(), await rowIds(page)], [url, ids]);
  const other = await openTurn(new URL(url).hash);
  await other.part("node").waitFor({ state: "attached" });
  await row(other.page, node.id).waitFor();
  await settles(() => rowIds(other.page), ids);
  await page.locator('[data-tab="logs"]').click();
  await page.waitForURL(/tab=logs/);
  await page.locator('select[name="type"]').selectOption("warn");
  await page.getByText("it is dark").waitFor();
  await page.getByText("looking around").waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("it is dark").waitFor();
  await settles(() => page.locator('select[name="type"]').inputValue(), "warn");
  check();
  other.check();
});

test("all of it works by keys alone", async () => {
  const { page, part, check } = await openTurn(`#/turns/${made.shop}`);
  const nodes = await nodesOf(made.shop);
  const [root, first] = nodes;
  await row(page, first.id).waitFor();
  await row(page, root.id).locator("a").focus();
  await page.keyboard.press("ArrowLeft");
  await row(page, first.id).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await row(page, first.id).waitFor();
  await page.keyboard.press("j");
  await page.waitForFunction((id) => document.activeElement?.closest("tr")?.dataset.id === id, first.id);
  await page.keyboard.press("Enter");
  await part("node").waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await part("node").waitFor({ state: "detached" });
  await page.waitForFunction((id) => document.activeElement?.closest("tr")?.dataset.id === id, first.id);
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "type");
  await page.locator('[data-tab="timeline"]').focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/tab=(calls|logs)/);
  check();
});

test("zoom widens the bars, the critical path goes to the root's last child", async () => {
  const { page, action, check } = await openTurn(`#/turns/${made.shop}`);
  const nodes = await nodesOf(made.shop);
  await row(page, nodes.at(-1).id).waitFor();
  const width = () => page.locator('[data-part="timeline"] .scale').evaluate((cell) => cell.getBoundingClientRect().width);
  const before = await width();
  await action("zoom-in").click();
  await action("zoom-in").click();
  await settles(async () => (await width()) > before * 2, true);
  await action("zoom").click();
  await settles(width, before);
  await action("critical-path").click();
  await row(page, nodes[0].id).locator(".critical").waitFor();
  const last = nodes.filter((node) => node.parent_ids[0] === nodes[0].id).reduce((one, other) => (other.end_at >= one.end_at ? other : one));
  await row(page, last.id).locator(".critical").waitFor();
  check();
});

test("a running turn is followed live, takes a message and is stopped", async () => {
  const slow = await startSlowly("live");
  const { page, part, action, check } = await openTurn(`#/turns/${slow.id}`);
  await row(page, "n1").locator(".state.running").waitFor();
  await page.locator('[data-part="timeline"] tr .type', { hasText: "hook" }).waitFor();
  await action("append").click();
  await page.locator('textarea[name="message"]').fill("And then?");
  await action("send").click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await action("stop").click();
  await page.locator('dl[data-status="cancelled"]').waitFor();
  await row(page, "n1").locator(".state.cancelled").waitFor();
  await page.locator('[data-part="timeline"] tr .type', { hasText: "llm" }).first().waitFor();
  await action("stop").waitFor({ state: "detached" });
  await slow.end;
  assert.equal((await read(`/chat/requests/${slow.id}`)).status, "cancelled");
  check();
});

test("spaces and the memory that hooks used are shown", async () => {
  const { page, part, check } = await openTurn(`#/turns/${made.shop}?tab=spaces`);
  await part("spaces").waitFor({ state: "attached" });
  await page.locator('[data-part="spaces"] h3', { hasText: "Board" }).waitFor();
  await page.locator('[data-part="spaces"] .name', { hasText: "plan" }).waitFor();
  await page.locator('[data-tab="memory"]').click();
  await part("memory").waitFor({ state: "attached" });
  const rows = await page.locator('[data-part="memory"] tbody tr').allTextContents();
  assert.ok(rows.some((text) => text.includes("Create") && text.includes("written")), rows.join("\n"));
  assert.ok(rows.some((text) => text.includes("Next") && text.includes("read")), rows.join("\n"));
  check();
});

test("the raw stream is read in any format, and again from a number", async () => {
  const { page, part, action, check } = await openTurn(`#/turns/${made.shop}?tab=events`);
  await part("events").waitFor({ state: "attached" });
  const lines = page.locator('[data-part="events"] .line');
  const { last_event } = await read(`/chat/requests/${made.shop}`);
  await page.locator(`[data-part="events"] [data-number="1"]`).waitFor();
  await page.locator('[data-part="events"] .name', { hasText: "stream_start" }).waitFor();
  await page.locator(`[data-part="trace-events"] .name`, { hasText: "node_start" }).first().waitFor();
  // By keys: the head of the page may still grow, and a button that moves between press and release is not clicked.
  await lines.nth(1).locator(".row").press("Enter");
  await lines.nth(1).locator(".json").waitFor();
  assert.equal(await lines.nth(1).getAttribute("data-number"), "2");
  await action("read-from").press("Enter");
  await page.waitForURL(/after=2/);
  await page.locator(`[data-part="events"] [data-number="3"]`).waitFor();
  await page.locator(`[data-part="events"] [data-number="1"]`).waitFor({ state: "detached" });
  await page.locator('select[name="format"]').selectOption("ag-ui");
  await action("read-from-start").click();
  await page.locator('[data-part="events"] .name', { hasText: "RUN_STARTED" }).waitFor();
  await page.locator('input[name="after"]').fill(String(last_event + 100));
  await page.keyboard.press("Enter");
  await part("events", "error").waitFor();
  // The browser itself writes a line for the 400, so the page is not checked.
});

test("without a trace there is the head, and why there is no more", async () => {
  const { page, part } = await openTurn(`#/turns/${made.shop}`, { answers: { [`/trace/traces/${made.shop}/events`]: { status: 404 } } });
  await part("timeline", "gone").waitFor();
  await page.getByText("There is no trace of this turn").waitFor();
  await part("turn-head").waitFor({ state: "attached" });
});

test("an id that is nobody's is gone", async () => {
  const { part, action } = await openTurn("#/turns/01m00000000000000000000000");
  await part("turn-head", "gone").waitFor();
  assert.equal(await action("stop").count(), 0);
});

test("without the right to list, a turn is opened by its id", async () => {
  const { page, part, check } = await openTurn("#/turns", { refused: [LIST] });
  await part("turn-list", "denied").waitFor();
  await page.locator('input[name="request_id"]').fill(made.shop);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`#/turns/${made.shop}$`));
  await part("timeline").waitFor({ state: "attached" });
  check();
});

test("the list shows turns, those that run before all others, and keeps its filters", async () => {
  const turn = (id, status, more = {}) => ({
    request_id: id, trace_id: id, chat_id: "one", context: "c1", assistant_id: "shop", user_id: "ann", status, started_at: 1_764_300_000_000,
    ended_at: 1_764_300_001_500, duration_ms: 1500, ttft_ms: 300, calls: 2, tools: 1, usage: { total_tokens: 1234 }, cost: { USD: 1200 },
    error: null, acted_by: null, ...more,
  });
  const old = turn("r-old", "running", { ended_at: null, duration_ms: null, calls: null });
  const list = ({ searchParams }) =>
    searchParams.get("status") === "running" ? { items: [old], next: null } : { items: [turn(made.shop, "completed"), old], next: null };
  const { page, part, check } = await openTurn("#/turns?assistant_id=shop", { granted: [LIST], answers: { "/chat/requests": list } });
  await part("turn-list").waitFor({ state: "attached" });
  await page.locator(`tr[data-id="${made.shop}"]`).waitFor();
  await settles(() => page.locator("tr[data-id]").evaluateAll((rows) => rows.map((one) => one.dataset.id)), ["r-old", made.shop]);
  const cells = await page.locator(`tr[data-id="${made.shop}"] td`).allTextContents();
  assert.deepEqual(cells.slice(1), ["shop", "one", "ann", "completed", "1.5 secs", "2", "1", "1,234", "US$0.0012"]);
  await page.locator(`tr[data-id="${made.shop}"] a`).click();
  await page.waitForURL(new RegExp(`#/turns/${made.shop}\\?assistant_id=shop$`));
  await part("timeline").waitFor({ state: "attached" });
  await page.locator('[data-action="close"]').first().click();
  await page.waitForURL(/#\/turns\?assistant_id=shop$/);
  await page.locator(`tr[data-id="${made.shop}"]`).waitFor();
  check();
});

test("g194_a_trace_of_5000_nodes_is_scrolled_to_its_end_with_few_rows_in_the_page_and_few_made_in_a_task", async () => {
  const answers = { [`/trace/traces/${made.shop}/events`]: { stream: longTrace(made.shop, 5000) } };
  const { page, part, check } = await openTurn(`#/turns/${made.shop}?fold=off`, { answers });
  await part("timeline").waitFor({ state: "attached" });
  await row(page, "n1").waitFor();
  const first = await page.evaluate(() => Math.round(performance.now()));
  await page.getByText("5,000 rows, 5,000 steps").waitFor();
  await page.evaluate(watchRows);
  // Heights are known only of rows that were shown: the end moves while it is gone to.
  await page.waitForFunction(() => {
    const box = document.querySelector('[data-part="timeline"] .scroller');
    box.scrollTop += box.clientHeight * 20;
    return box.querySelector('tr[aria-rowindex="5001"]') !== null;
  });
  // Both grow with the steps where rows are not virtual. Times depend on the machine, and say why where a count is too high.
  const { made: rows, shown, tasks } = await page.evaluate(() => window.watched);
  const message = `first row after ${first} ms; long tasks of ${tasks} ms while scrolling`;
  assert.ok(shown < 120, `${shown} rows in the page; ${message}`);
  assert.ok(rows > 0 && rows < 240, `${rows} rows made at once; ${message}`);
  check();
});

/** In the page: counts the most rows there are, and the most that are made in one task, from now on; long tasks in milliseconds. */
function watchRows() {
  const timeline = document.querySelector('[data-part="timeline"]');
  const watched = { made: 0, shown: 0, tasks: [] };
  let made = 0;
  // A message comes as the next task; a timer may be late, behind further tasks.
  const next = new MessageChannel();
  next.port1.onmessage = () => (made = 0);
  new MutationObserver((changes) => {
    if (made === 0) next.port2.postMessage(null);
    for (const { addedNodes } of changes) made += [...addedNodes].filter((node) => node.nodeName === "TR").length;
    watched.made = Math.max(watched.made, made);
    watched.shown = Math.max(watched.shown, timeline.querySelectorAll("tr[data-id]").length);
  }).observe(timeline, { childList: true, subtree: true });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) watched.tasks.push(Math.round(duration));
  }).observe({ type: "longtask" });
  window.watched = watched;
}

/** In the page: whether the turn, or the list, that this address names is there, with its tab. */
function isShown(path) {
  const [, id] = path.split("?")[0].split("/").slice(1);
  const tab = new URLSearchParams(path.split("?")[1]).get("tab");
  const part = document.querySelector(`[data-part="${id ? "turn-head" : "turn-list"}"]`);
  const isChosen = !tab || document.querySelector(`[data-tab="${tab}"][aria-selected="true"]`);
  return document.title.startsWith(id ?? "") && part && isChosen && !document.querySelector('[data-state="loading"]');
}

test("axe finds nothing, and nothing scrolls sideways", async () => {
  for (const theme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      const looks = { preferences: { theme, language: "en" }, viewport: { width, height: 800 } };
      const { page, check } = await openTurn(`#/turns/${made.broken}`, looks);
      const tabs = ["timeline&node=n1", "calls", `calls&call=${made.shop}.call-1&diff=${made.shop}.call-0`, `calls&call=${made.shop}.call-0`, "logs", "spaces", "memory", "events"];
      for (const path of ["#/turns", `#/turns/${made.broken}`, ...tabs.map((tab) => `#/turns/${made.shop}?tab=${tab}`)]) {
        await page.evaluate((hash) => (location.hash = hash), path);
        await page.waitForFunction(isShown, path);
        await assertAccessible(page, `${path} ${theme} ${width}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${path} scrolls sideways by ${overflow} px`);
      }
      check();
      await ambit.closePages();
    }
  }
});
