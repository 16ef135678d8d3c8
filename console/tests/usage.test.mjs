import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { useConsole } from "./support/console.mjs";
import { assertLooks } from "./support/looks.mjs";
import { say, UNCONSTRAINED } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const connector = (model, prompt_tokens) =>
  JSON.stringify({ label: model, type: "scripted", options: { model, usage: { prompt_tokens, completion_tokens: 5 } } });
const agent = (connector) => JSON.stringify({ name: "Agent", connector });
const FILES = {
  ...UNCONSTRAINED,
  "connectors/scripted.conn.yao": connector("small-1", 10),
  "connectors/large.conn.yao": connector("<b>large</b>", 100),
  "assistants/thinker/package.yao": agent("large"),
  "assistants/thinker/prompts.yml": "- role: system\n  content: Think.\n",
};

const DAY = 86_400_000;
/** More than all cases take. */
const LONG = 300_000;

const ambit = useConsole("welcome", async (server) => {
  // No day begins in the middle of a case.
  const left = DAY - (Date.now() % DAY);
  if (left < LONG) await pause(left);
  await say(server, "one", "Hello");
  await say(server, "one", "Hello again");
  await say(server, "two", "Hello", "thinker");
}, FILES);

const date = (daysAgo) => new Date(Date.now() - daysAgo * DAY).toISOString().slice(0, 10);
const UTC = "time_zone=UTC";
const read = async (query) => (await fetch(`${ambit.server.api}/usage?${query}`)).json();
const ready = async ({ part }) => {
  for (const name of ["totals", "plot", "table"]) await part(name).waitFor({ state: "attached" });
};
const column = (page, name) => page.locator(`td[data-column="${name}"]`).allInnerTexts();

test("totals, plot and table say what the API says of the last thirty days", async () => {
  const opened = await ambit.open(`#/usage?${UTC}`);
  const { page, check } = opened;
  await ready(opened);
  const { total } = await read(`${UTC}&date_from=${date(29)}&date_to=${date(0)}`);
  for (const name of ["records", "total_tokens", "prompt_tokens", "completion_tokens"]) {
    assert.equal(await page.locator(`[data-sum="${name}"] dd`).innerText(), new Intl.NumberFormat("en-GB").format(total[name]), name);
  }
  const { items } = await read(`${UTC}&date=${date(0)}&group_by=agent`);
  await settles(async () => (await column(page, "value")).sort(), items.map(({ value }) => value).sort());
  await page.locator(".plot canvas").waitFor();
  await settles(() => page.locator("[data-series]").count(), items.length);
  check();
});

test("g195_splitting_measure_and_conditions_of_usage_survive_a_reload", async () => {
  const opened = await ambit.open(`#/usage?${UTC}`);
  const { page, check } = opened;
  await ready(opened);
  await page.locator('select[name="group_by"]').selectOption("model");
  await page.locator('tr[data-id$="large</b>"]').waitFor();
  await page.locator('select[name="measure"]').selectOption("prompt_tokens");
  await page.waitForURL(/measure=prompt_tokens/);
  await page.locator('input[name="agent"]').fill("thinker");
  await page.waitForFunction(() => document.querySelectorAll("tr[data-id]").length === 1);
  await page.reload();
  await ready(opened);
  assert.match(page.url(), /group_by=model&measure=prompt_tokens&agent=thinker/);
  await settles(() => column(page, "value"), ["<b>large</b>"]);
  assert.equal((await page.locator('[data-series="<b>large</b>"]').innerText()).trim(), "<b>large</b>: 100");
  check();
});

test("columns put the rows in order, and a row leads to what it sums up", async () => {
  const opened = await ambit.open(`#/usage?${UTC}&group_by=agent`);
  const { page, check } = opened;
  await ready(opened);
  const sort = page.locator('button[data-sort="total_tokens"]');
  await sort.click();
  await settles(() => column(page, "value"), ["thinker", "welcome"]);
  await sort.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector('td[data-column="value"]').innerText === "welcome");
  assert.equal(await page.locator('th[aria-sort="ascending"]').innerText(), "Tokens ▴");
  await page.locator('tr[data-id$="thinker"] a').focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/agent=thinker/);
  await ready(opened);
  assert.match(page.url(), new RegExp(`date_from=${date(0)}&date_to=${date(0)}|date_to=${date(0)}`));
  await page.locator('td[data-column="bucket"]', { hasText: /^\d{4}-\d\d-\d\d \d\d$/ }).first().waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("tr[data-id]").length === 2);
  check();
});

test("dragging over the plot sets the dates", async () => {
  const opened = await ambit.open(`#/usage?${UTC}`);
  const { page, check } = opened;
  await ready(opened);
  // Where the plot is, once it stays there.
  await page.locator(".plot .u-over").hover();
  const box = await page.locator(".plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
  await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/date_from=/);
  const query = new URLSearchParams(page.url().split("?")[1]);
  assert.equal(query.get("date_to"), date(0));
  assert.ok([14, 15].some((days) => query.get("date_from") === date(days)), query.get("date_from"));
  check();
});

test("the file has the rows of the table", async () => {
  const opened = await ambit.open(`#/usage?${UTC}&group_by=model`);
  const { page, action, check } = opened;
  await ready(opened);
  const [download] = await Promise.all([page.waitForEvent("download"), action("csv").click()]);
  assert.equal(download.suggestedFilename(), `usage-${date(29)}-${date(0)}.csv`);
  const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
  assert.match(lines[0], /^day,model,/);
  assert.equal(lines.length - 1, (await read(`${UTC}&date=${date(0)}&group_by=model`)).items.length);
  check();
});

test("a time without calls is empty, and tracking that is off is said", async () => {
  const { page, part, check } = await ambit.open("#/usage?date_from=2020-01-01&date_to=2020-01-05");
  for (const name of ["totals", "plot", "table"]) await part(name, "empty").waitFor();
  await page.getByText("No model was called in this time.").waitFor();
  await page.route("**/v1/usage?*", (route) => route.fulfill({ json: { total: null } }));
  await page.reload();
  await page.getByText("Usage is not counted").waitFor();
  assert.equal(await part("totals", "empty").count(), 1);
  assert.equal(await page.locator('[data-part="plot"], [data-part="table"]').count(), 0);
  check();
});

test("costs are shown by currency, and what is no currency by its name", async () => {
  const sums = { records: 1, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cached_tokens: 3, reasoning_tokens: 4 };
  const opened = await ambit.open("#/contexts");
  const { page, check } = opened;
  await page.route("**/v1/usage?*", (route) => {
    const cost = { EUR: 1_250_000, credits: 3_000_000 };
    const isSplit = route.request().url().includes("group_by");
    const items = Array.from({ length: 12 }, (_, at) => ({ values: [date(0), `agent ${at}`], ...sums, cost }));
    return route.fulfill({ json: isSplit ? { group_by: "day,agent", items } : { total: { ...sums, cost } } });
  });
  await page.evaluate(() => (location.hash = "#/usage?time_zone=UTC&measure=cost%3AEUR"));
  await ready(opened);
  assert.equal(await page.locator('[data-sum="cost:EUR"] dd').innerText(), "€1.25");
  assert.equal(await page.locator('[data-sum="cost:credits"] dd').innerText(), "3 credits");
  assert.equal(await page.locator('[data-sum="reasoning_tokens"] dd').innerText(), "4");
  await settles(() => page.locator("[data-series]").count(), 11);
  assert.equal((await page.locator('[data-series="others"]').innerText()).trim(), "others: €2.50");
  check();
});

test("usage that has too many sums to be split is shown by days alone, and offers no file", async () => {
  const opened = await ambit.open("#/contexts");
  const { page, action } = opened;
  await page.route(/\/v1\/usage\?.*group_by=(day|hour)%2C/, (route) =>
    route.fulfill({ status: 400, json: { error: { code: "invalid_argument", message: "group_by gives 10001 sums, and an answer has at most 10000" } } }),
  );
  await page.evaluate(() => (location.hash = "#/usage?time_zone=UTC"));
  await ready(opened);
  assert.equal(await page.locator('td[data-column="value"]').count(), 0);
  await settles(() => column(page, "bucket"), [date(0)]);
  assert.equal(await action("csv").count(), 0);
});

test("axe finds nothing in any look", async () => {
  await assertLooks(ambit, [`#/usage?${UTC}`, "#/usage?date_from=2020-01-01&date_to=2020-01-02"], async (page) => {
    await page.locator('[data-part="table"]:not([data-state="loading"])').waitFor({ state: "attached" });
  });
});
