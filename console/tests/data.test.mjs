import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { UNCONSTRAINED } from "./support/server.mjs";

const ORDER = {
  label: HOSTILE,
  columns: [
    { name: "id", type: "ID" },
    { name: "status", type: "string", index: true },
    { name: "card", type: "string", length: 16, crypt: "PASSWORD", nullable: true },
  ],
  relations: { items: { type: "hasMany", model: "item", key: "order_id", foreign: "id" } },
  values: Array.from({ length: 60 }, (_, at) => ({ status: at === 0 ? HOSTILE : "open" })),
  option: { permission: true },
};
const ITEM = {
  columns: [{ name: "id", type: "ID" }, { name: "name", type: "string" }, { name: "order_id", type: "integer" }],
  values: Array.from({ length: 21 }, (_, at) => ({ name: `shoe ${at + 1}`, order_id: 1 })),
};
const FILES = { ...UNCONSTRAINED, "models/order.mod.yao": JSON.stringify(ORDER), "models/item.mod.yao": JSON.stringify(ITEM) };

const ambit = useConsole("welcome", undefined, FILES);
const bare = useConsole("welcome");

/** What the page asks of rows from now on. */
function queries(page) {
  const asked = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/query")) asked.push(request.postDataJSON());
  });
  return asked;
}

test("without models the list says how to begin", async () => {
  const { part, check } = await bare.open("#/data");
  await part("model-list", "empty").waitFor();
  check();
});

test("a model is opened by keys, with its rows and what limits them", async () => {
  const { page, part, action, check } = await ambit.open("#/data");
  await page.locator('tr[data-id="item"]', { hasText: "21" }).waitFor();
  await page.locator('tr[data-id="order"] a').focus();
  await page.keyboard.press("Enter");
  await part("rows").waitFor({ state: "attached" });
  await assertText(page, "model-list");
  await assertText(page, "rows");
  await page.locator('[data-note="limited-by"]', { hasText: "tenant_id" }).waitFor();
  assert.equal((await page.locator('td[data-column="card"]').first().textContent()).trim(), "hidden");
  for (const name of ["new", "edit", "remove", "save"]) assert.equal(await action(name).count(), 0, "writing is not offered");
  await page.locator("summary", { hasText: "Columns" }).click();
  await page.locator('tr[data-id="items"]', { hasText: "hasMany" }).waitFor();
  check();
});

test("filters, order and page are in the URL, and asked again after a reload", async () => {
  const { page, part, action, check } = await ambit.open("#/data/order");
  const asked = queries(page);
  await part("rows").waitFor({ state: "attached" });
  await action("next").click();
  await page.waitForURL(/page=2/);
  await page.locator('select[name="column"]').selectOption("status");
  assert.equal(await page.locator('select[name="column"] option[value="card"]').count(), 0, "encrypted columns are no filter");
  await page.locator('input[name="value"]').fill("open");
  await action("add-filter").click();
  await page.locator('select[name="order"]').selectOption("-id");
  await page.waitForURL(/order=-id/);
  await page.reload();
  await part("rows").waitFor({ state: "attached" });
  const expected = { wheres: [{ column: "status", op: "eq", value: "open" }], orders: [{ column: "id", option: "desc" }], page: 1, pagesize: 50 };
  assert.deepEqual(asked.at(-1), expected);
  await page.locator(".pages", { hasText: "59" }).waitFor();
  await action("lift-filter").click();
  await page.waitForURL((url) => !url.href.includes("where="));
  await page.locator('select[name="column"]').selectOption("status");
  await page.locator('input[name="value"]').fill("nothing");
  await action("add-filter").click();
  await part("rows", "empty").waitFor();
  check();
});

test("a row is shown with its relations, of each the first 20", async () => {
  const { page, part, action, check } = await ambit.open("#/data/order");
  await part("rows").waitFor({ state: "attached" });
  const asked = queries(page);
  await action("show-row").first().click();
  await part("row").filter({ hasText: "items" }).waitFor({ state: "attached" });
  const withs = { items: { query: { pagesize: 20 } } };
  assert.deepEqual(asked, [{ wheres: [{ column: "id", value: 1 }], withs, page: 1, pagesize: 1 }]);
  const answer = await fetch(`${ambit.server.api}/data/models/order/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked[0]),
  });
  assert.equal((await answer.json()).data[0].items.length, 20);
  await page.keyboard.press("Escape");
  await page.locator('[data-part="row"]').waitFor({ state: "detached" });
  check();
});

test("a model that is not there is gone, and rows that are not granted are not asked for", async () => {
  const { part } = await ambit.open("#/data/secret");
  await part("model", "gone").waitFor();
  const grants = ["GET /data/models", "GET /data/models/:id"];
  const answers = { "POST /data/models/*/query": () => ({ status: 403 }) };
  const second = await openRecorded(ambit, "#/data/order", answers, { grants });
  await second.part("model").waitFor({ state: "attached" });
  await second.page.locator('.item [data-note="not-granted"]', { hasText: "POST /data/models/:id/query" }).waitFor();
  assert.equal(second.requests.some(({ path }) => path.endsWith("/query")), false);
});

test("a query that was ended says why", async () => {
  const body = { error: { code: "timeout", message: "models.order: the query was ended after 5s" } };
  const { part } = await openRecorded(ambit, "#/data/order", { "POST /data/models/*/query": () => ({ status: 504, body }) });
  await part("rows", "error").filter({ hasText: "ended after 5s" }).waitFor();
});
