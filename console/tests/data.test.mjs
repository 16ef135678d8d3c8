import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";

const ambit = useConsole("welcome");
const MODEL = { id: "order", label: HOSTILE, table: "order", permission: true, rows: 60 };
const DETAILS = {
  ...MODEL,
  columns: [{ name: "id", type: "ID" }, { name: "status", type: "string", index: true }, { name: "card", type: "string", crypt: "AES" }],
  relations: { items: { type: "hasMany", model: "item", key: "order_id", foreign: "id" } },
  indexes: [],
};
const rows = (from, to) => Array.from({ length: to - from }, (_, at) => ({ id: from + at + 1, status: at === 0 ? HOSTILE : "open", card: { hidden: true } }));

function query({ body }) {
  const { page, pagesize, wheres, withs } = body;
  let data = rows((page - 1) * pagesize, Math.min(60, page * pagesize));
  if (wheres?.some(({ value }) => value === "nothing")) data = [];
  else if (withs) data = [{ ...rows(0, 1)[0], items: [{ name: "shoes" }] }];
  const [next, prev] = [page < 2 ? page + 1 : -1, page > 1 ? page - 1 : -1];
  return { body: { data, page, pagesize, pagecnt: 2, next, prev, total: 60, limited_by: { owner_only: true } } };
}
const ANSWERS = { "GET /data/models": { items: [MODEL] }, "GET /data/models/*": DETAILS, "POST /data/models/*/query": query };

test("without models the list says how to begin", async () => {
  const { part, check } = await openRecorded(ambit, "#/data", { "GET /data/models": { items: [] } });
  await part("model-list", "empty").waitFor();
  check();
});

test("a model is opened by keys, with its rows and what limits them", async () => {
  const { page, part, action, check } = await openRecorded(ambit, "#/data", ANSWERS);
  await page.locator('tr[data-id="order"] a').focus();
  await page.keyboard.press("Enter");
  await part("rows").waitFor({ state: "attached" });
  await assertText(page, "model-list");
  await assertText(page, "rows");
  await page.locator('[data-note="limited-by"]', { hasText: "owner_only" }).waitFor();
  assert.equal((await page.locator('[data-column="card"]').first().textContent()).trim(), "hidden");
  for (const name of ["new", "edit", "remove", "save"]) assert.equal(await action(name).count(), 0, "writing is not offered");
  await page.locator("summary", { hasText: "Columns" }).click();
  await page.locator('tr[data-id="items"]', { hasText: "hasMany" }).waitFor();
  check();
});

test("filters, order and page are in the URL, and asked again after a reload", async () => {
  const { page, part, action, requests, check } = await openRecorded(ambit, "#/data/order", ANSWERS);
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
  const asked = requests.filter(({ path }) => path.endsWith("/query")).at(-1).body;
  assert.deepEqual(asked, { wheres: [{ column: "status", op: "eq", value: "open" }], orders: [{ column: "id", option: "desc" }], page: 1, pagesize: 50 });
  await action("lift-filter").click();
  await page.waitForURL((url) => !url.href.includes("where="));
  await page.locator('input[name="value"]').fill("nothing");
  await action("add-filter").click();
  await part("rows", "empty").waitFor();
  check();
});

test("a row is shown with its relations", async () => {
  const { page, part, action, check } = await openRecorded(ambit, "#/data/order", ANSWERS);
  await action("show-row").first().click();
  await part("row").waitFor({ state: "attached" });
  await page.locator('[data-part="row"]', { hasText: "items" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator('[data-part="row"]').waitFor({ state: "detached" });
  check();
});

test("a model of somebody else's is gone, and rows that are not granted are not asked for", async () => {
  const missing = { status: 404, body: { error: { code: "not_found", message: "model not found" } } };
  const { part } = await openRecorded(ambit, "#/data/secret", { ...ANSWERS, "GET /data/models/*": () => missing });
  await part("model", "gone").waitFor();
  const grants = ["GET /data/models", "GET /data/models/:id"];
  const second = await openRecorded(ambit, "#/data/order", ANSWERS, { grants });
  await second.part("model").waitFor({ state: "attached" });
  await second.page.locator('.item [data-note="not-granted"]', { hasText: "POST /data/models/:id/query" }).waitFor();
  assert.equal(second.requests.some(({ path }) => path.endsWith("/query")), false);
});
