import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
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
