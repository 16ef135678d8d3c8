import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const ambit = useConsole("welcome", async (server) => {
  for (const chat of ["one", "two", "three"]) await say(server, chat, "Hello");
});

const ids = (page) => page.locator("tr[data-id]").evaluateAll((rows) => rows.map((row) => row.dataset.id));
const read = async (path) => (await fetch(`${ambit.server.api}${path}`)).json();

test("the table shows the rows of the API", async () => {
  const { page, part, check } = await ambit.open("#/contexts");
  await part("context-table").waitFor({ state: "attached" });
  await settles(() => ids(page), async () => (await read("/contexts?limit=50")).items.map((row) => row.id));
  await settles(() => page.title(), "Contexts · Ambit");
  check();
});

test("g195_filters_and_the_open_context_survive_a_reload_and_the_way_back", async () => {
  const { page, check } = await ambit.open("#/contexts");
  await page.locator('input[name="chat"]').fill("two");
  await page.waitForURL(/chat=two/);
  const { items } = await read("/contexts?chat=two");
  const expected = items.map((row) => row.id);
  await settles(() => ids(page), expected);
  await page.reload();
  await settles(() => ids(page), expected);
  await page.locator("tr[data-id] a").first().click();
  await page.locator('[data-part="items"][data-state="ready"]').waitFor({ state: "attached" });
  await page.waitForURL(new RegExp(`#/contexts/${items[0].id}\\?chat=two$`));
  await page.goBack();
  await page.locator('[data-part="context"]').waitFor({ state: "detached" });
  await page.waitForURL(/#\/contexts\?chat=two$/);
  check();
});

test("unknown filters are dropped with a note, unknown views are not found", async () => {
  const { page, check } = await ambit.open("#/contexts?colour=red&scope=usage");
  await page.getByText("Unknown filters were dropped: colour").waitFor();
  await page.waitForURL(/#\/contexts\?scope=usage$/);
  await page.goto(`${ambit.origin}/console/#/nowhere`);
  await page.locator('main[data-view="not-found"]').waitFor();
  check();
});

test("a row is opened and left by keys alone", async () => {
  const { page, part, check } = await ambit.open("#/contexts");
  await part("context-table").waitFor({ state: "attached" });
  await page.locator("tr[data-id] a").first().focus();
  await page.locator("tr[data-id]").nth(2).waitFor();
  const order = await ids(page);
  const second = order[1];
  for (const [key, at] of [["j", 1], ["j", 2], ["k", 1]]) {
    await page.keyboard.press(key);
    await page.waitForFunction((id) => document.activeElement?.closest("tr")?.dataset.id === id, order[at]);
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`#/contexts/${second}$`));
  // The second letter counts for a moment only, which a slow machine may miss.
  await settles(async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    return page.locator('main[data-view="usage"]').count();
  }, 1);
  await page.waitForFunction(() => document.activeElement?.tagName === "H1");
  await page.keyboard.press("Control+k");
  await page.locator('[data-part="palette"] input').fill("context");
  await page.locator('[data-part="palette"] input').press("Enter");
  await page.locator('main[data-view="contexts"]').waitFor();
  await page.keyboard.press("?");
  await page.locator('[data-part="help"]').waitFor();
  await page.keyboard.press("Escape");
  await page.locator('[data-part="help"]').waitFor({ state: "detached" });
  check();
});

test("Esc closes what is open, and the focus is at its row again", async () => {
  const { page, part, check } = await ambit.open("#/contexts?scope=chatHistory");
  await part("context-table").waitFor({ state: "attached" });
  const link = page.locator("tr[data-id] a").first();
  await link.focus();
  const id = await page.evaluate(() => document.activeElement.closest("tr").dataset.id);
  await page.keyboard.press("Enter");
  await part("items").waitFor({ state: "attached" });
  await page.locator('[data-action="clear"]').focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await part("context").waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await page.waitForURL(/#\/contexts\?scope=chatHistory$/);
  await page.waitForFunction((id) => document.activeElement?.closest("tr")?.dataset.id === id, id);
  check();
});

test("an id that is nobody's is gone", async () => {
  // The browser itself writes a line for the 404, so the page is not checked.
  const { part, action } = await ambit.open("#/contexts/nope");
  await part("context", "gone").waitFor();
  assert.equal(await action("remove").count(), 0);
});

test("all that match are cleared after a dry run and the number typed", async () => {
  const { page, part, action, check } = await ambit.open("#/contexts?chat=one");
  await part("context-table").waitFor({ state: "attached" });
  await action("clear-all").click();
  await part("report").waitFor();
  assert.equal((await read("/contexts?chat=one")).items.every((row) => row.items > 0), true);
  assert.equal(await action("confirm").isDisabled(), true);
  const count = (await read("/contexts?chat=one")).items.length;
  await page.locator('input[name="confirm"]').fill(String(count));
  await action("confirm").click();
  await page.getByText("This is what happened.").waitFor();
  assert.equal((await read("/contexts?chat=one")).items.every((row) => row.items === 0), true);
  await page.locator("dialog").locator('[data-action="close"]').click();
  await action("clear-all").click();
  await page.locator(`[data-part="report"] [data-group="unchanged"] summary`, { hasText: String(count) }).waitFor();
  check();
});

test("filters suggest what there is", async () => {
  const { page, part, check } = await ambit.open("#/contexts");
  await part("context-table").waitFor({ state: "attached" });
  for (const [field, value] of [["agent", "welcome"], ["scope", "chatHistory"]]) {
    await page.locator(`input[name="${field}"]`).focus();
    await page.locator(`#suggest-${field} option[value="${value}"]`).waitFor({ state: "attached" });
  }
  const suggested = () => page.locator("#suggest-agent option").evaluateAll((all) => all.map((option) => option.value));
  await page.locator('input[name="agent"]').fill("wel");
  await settles(suggested, ["welcome"]);
  await page.locator('input[name="agent"]').fill("nobody");
  await settles(suggested, []);
  check();
});

test("values are asked for once where somebody types, and of late answers those of other texts are dropped", async () => {
  const { page, part, check } = await ambit.open("#/contexts");
  await part("context-table").waitFor({ state: "attached" });
  const asked = [];
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(/\/v1\/contexts\/values\?/, async (route) => {
    const prefix = new URL(route.request().url()).searchParams.get("prefix");
    asked.push(prefix);
    if (prefix === "nobody") await released;
    await route.continue();
  });
  const type = (...texts) =>
    page.locator('input[name="agent"]').evaluate((input, texts) => {
      for (const text of texts) {
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }, texts);
  await type("n", "no", "nobody");
  await settles(() => asked, ["nobody"]);
  await type("w", "wel");
  const suggested = () => page.locator("#suggest-agent option").evaluateAll((all) => all.map((option) => option.value));
  await settles(suggested, ["welcome"]);
  const late = page.waitForResponse(/prefix=nobody/);
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.deepEqual([await suggested(), asked], [["welcome"], ["nobody", "wel"]]);
  check();
});

test("contexts are filtered by state, and come in the order that is chosen", async () => {
  await say(ambit.server, "six", "Hello");
  const rows = (await read("/contexts?chat=six")).items;
  const history = rows.find((row) => row.scope === "chatHistory");
  await fetch(`${ambit.server.api}/contexts/${history.id}/clear`, { method: "POST" });
  const { page, check } = await ambit.open("#/contexts?chat=six");
  await page.locator('select[name="order"]').selectOption("newest");
  await settles(() => ids(page), rows.map((row) => row.id).toReversed());
  await page.locator('select[name="state"]').selectOption("cleared");
  await settles(() => ids(page), [history.id]);
  await page.waitForURL(/#\/contexts\?chat=six&order=newest&state=cleared$/);
  await page.reload();
  await settles(() => ids(page), [history.id]);
  check();
});

test("marked rows alone are cleared, after a dry run and their number typed", async () => {
  await say(ambit.server, "seven", "Hello");
  const items = async () => Object.fromEntries((await read("/contexts?chat=seven")).items.map((row) => [row.id, row.items]));
  const [history] = (await read("/contexts?chat=seven&scope=chatHistory")).items;
  const before = await items();
  const { page, action, check } = await ambit.open("#/contexts?chat=seven");
  await page.locator(`tr[data-id="${history.id}"] input`).check();
  await action("clear-marked").click();
  await page.locator(`[data-part="report"] [data-group="done"] li[data-id="${history.id}"]`).waitFor({ state: "attached" });
  assert.deepEqual(await items(), before);
  await page.locator('input[name="confirm"]').fill("1");
  await action("confirm").click();
  await page.getByText("This is what happened.").waitFor();
  assert.deepEqual(await items(), { ...before, [history.id]: 0 });
  await page.locator("dialog").locator('[data-action="close"]').click();
  await action("clear-marked").waitFor({ state: "detached" });
  check();
});

test("all that match are removed after a dry run and the number typed", async () => {
  await say(ambit.server, "nine", "Hello");
  const rows = async () => (await read("/contexts?chat=nine")).items.length;
  const count = await rows();
  const { page, part, action, check } = await ambit.open("#/contexts?chat=nine");
  await part("context-table").waitFor({ state: "attached" });
  await action("remove-all").click();
  await page.locator('[data-part="report"] [data-group="done"] summary', { hasText: String(count) }).waitFor();
  assert.equal(await rows(), count);
  await page.locator('input[name="confirm"]').fill(String(count));
  await action("confirm").click();
  await page.getByText("This is what happened.").waitFor();
  assert.equal(await rows(), 0);
  await page.locator("dialog").locator('[data-action="close"]').click();
  await part("context-table", "empty").waitFor();
  check();
});

test("a marked row that is removed in its details is marked no more", async () => {
  await say(ambit.server, "eight", "Hello");
  const [row] = (await read("/contexts?chat=eight&scope=usage")).items;
  const { page, part, action, check } = await ambit.open("#/contexts?chat=eight");
  await page.locator(`tr[data-id="${row.id}"] input`).check();
  await action("clear-marked").waitFor();
  await page.locator(`tr[data-id="${row.id}"] a`).first().click();
  await part("context").waitFor({ state: "attached" });
  // A read that is under way when it goes is answered 404, which the browser writes down.
  check();
  await action("remove").click();
  await action("confirm").click();
  await page.waitForURL(/#\/contexts\?chat=eight$/);
  await action("clear-marked").waitFor({ state: "detached" });
});

test("how a context is kept is shown to callers who are told", async () => {
  const at = 1764300000000;
  const row = {
    id: "x1", agent_name: "welcome", chat_name: "c", user_id: "ann", group: null, scope: "chatHistory", key: "chatHistory_welcome_ann", state: "live",
    items: 2, created_at: at, last_activity_at: at, agents: ["welcome"], labels: { plan: "free" }, placement: ["main", "cache"], team: HOSTILE,
    created_by: "bob", generation: 3, touches: [{ agent: "welcome", key: "welcome_ann", first_at: at, last_at: at }],
  };
  const answers = { "GET /contexts/x1": row, "GET /contexts/x1/items": { items: [], next: null } };
  const { page, part, check } = await openRecorded(ambit, "#/contexts/x1", answers);
  await part("items", "empty").waitFor();
  const facts = await page.locator('[data-part="context"] dd').allInnerTexts();
  assert.deepEqual([facts.includes("main, cache"), facts.includes("bob"), facts.includes("3")], [true, true, true], facts.join());
  await page.locator('[data-part="context"] tr[data-id="welcome"] [data-column="key"]', { hasText: "welcome_ann" }).waitFor();
  await assertText(page, "context");
  check();
});

test("one context is removed, and the list says so", async () => {
  const [row] = (await read("/contexts?chat=three&scope=usage")).items;
  const { page, part, action, check } = await ambit.open(`#/contexts/${row.id}?scope=usage`);
  await part("context").waitFor({ state: "attached" });
  // A read that is under way when it goes is answered 404, which the browser writes down.
  check();
  await action("remove").click();
  await action("confirm").click();
  await page.waitForURL(/#\/contexts\?scope=usage$/);
  await page.locator(`tr[data-id="${row.id}"]`).waitFor({ state: "detached" });
  assert.equal((await read("/contexts?chat=three&scope=usage")).items.length, 0);
});

test("a context that somebody makes appears by itself", async () => {
  const { page, part, check } = await ambit.open("#/contexts?chat=four");
  await part("context-table", "empty").waitFor();
  await say(ambit.server, "four", "Hello");
  await page.locator("tr[data-id]").first().waitFor();
  check();
});

test("rows that come above the others are announced", async () => {
  const { page, part, check } = await ambit.open("#/contexts?scope=chatHistory&order=newest");
  await part("context-table").waitFor({ state: "attached" });
  await page.locator("tr[data-id]").first().waitFor();
  await say(ambit.server, "ten", "Hello");
  await page.locator('[data-part="context-table"] [role="status"]', { hasText: /^1 new$/ }).waitFor({ state: "attached" });
  check();
});

test("g189_a_message_of_a_stranger_is_markdown_that_runs_and_loads_nothing", async () => {
  const hostile = [
    "**bold** <script>document.title = 'run'</script><img src=https://example.org/x onerror=\"document.title = 'run'\">",
    "[link](javascript:document.title='run') [good](https://example.org/) ![picture](https://example.org/p.png)",
    "```html\n<svg onload=\"document.title = 'run'\">\n```",
  ].join("\n\n");
  await say(ambit.server, "hostile", hostile);
  const [row] = (await read("/contexts?chat=hostile&scope=chatHistory")).items;
  const { page, check } = await ambit.open(`#/contexts/${row.id}`);
  const text = page.locator('[data-part="items"] li').first().locator(".markdown");
  await text.locator("strong", { hasText: "bold" }).waitFor();
  assert.equal(await text.locator("script, img, svg, [onerror], [onload]").count(), 0);
  const links = await text.locator("a").evaluateAll((all) => all.map((link) => [link.href, link.rel, link.target]));
  assert.deepEqual(links, [
    ["https://example.org/", "noopener noreferrer nofollow", "_blank"],
    ["https://example.org/p.png", "noopener noreferrer nofollow", "_blank"],
  ]);
  assert.equal(await text.locator("pre + button, .code-frame button").count(), 1);
  assert.match(await page.title(), /Ambit$/);
  check();
});
