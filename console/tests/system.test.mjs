import assert from "node:assert/strict";
import { after, test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { startModel } from "./support/model.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const ambit = useConsole("welcome");
const model = await startModel();
const busy = useConsole("../console/tests/apps/chats", undefined, model.files);
after(() => model.close());
const AT = 1764300000000;
const SYSTEM = {
  version: "0.1.0", mode: "dev", node: "n1", started_at: AT,
  app: { name: "Welcome", version: "1", loaded_at: AT, problems: 1 },
  stores: [
    { name: "main", kind: "sqlite", role: "primary", state: "ready", latency_ms: 0.4, bytes: 4096, error: null },
    { name: "cache", kind: "redis", role: "secondary", state: "error", latency_ms: 2000, bytes: null, error: HOSTILE },
  ],
  nodes: [{ id: "n1", version: "0.1.0", started_at: AT, seen_at: AT, turns: 1 }],
  turns: { running: 1, waiting: 2 },
};
const LEASES = { items: [{ request_id: "r1", context: "c1", assistant_id: "welcome", node: "n1", epoch: 3, expires_at: AT, waiting: 2 }], next: null };
const ORPHAN = { request_id: "r2", context: null, assistant_id: "welcome", node: null, epoch: null, expires_at: null, waiting: 0 };
const HEALTH = { "GET /system": SYSTEM, "GET /system/leases": LEASES };
const PROBLEM = { severity: "error", file: "assistants/a/package.yao", line: 3, column: 5, message: HOSTILE };

const stream = (...events) => ({
  type: "text/event-stream",
  body: events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(""),
});

test("stores, nodes and running turns are shown, and names are text", async () => {
  const { page, part, check } = await openRecorded(ambit, "#/system", HEALTH);
  await part("health").waitFor({ state: "attached" });
  await page.locator('tr[data-id="cache"]', { hasText: "error" }).waitFor();
  await page.locator('tr[data-id="r1"] a').waitFor();
  await assertText(page, "health");
  check();
});

/** In the page: the words of letters alone that a cell of a table has broken. */
function brokenWords() {
  const broken = [];
  for (const cell of document.querySelectorAll("main th, main td")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const { 0: word, index } of texts.currentNode.data.matchAll(/(?<=^|\s)\p{L}{2,20}(?=\s|$)/gu)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
      }
    }
  }
  return broken;
}

test("at 360 px a table keeps its words whole and scrolls sideways by itself", async () => {
  const problems = { loaded_at: AT, problems: [{ ...PROBLEM, message: "the description of an assistant is missing" }], refused: null };
  const answers = { ...HEALTH, "GET /app/problems": problems };
  const { page, part, check } = await openRecorded(ambit, "#/system", answers, { viewport: { width: 360, height: 800 } });
  for (const [name, hash] of [["health", "#/system"], ["problems", "#/system?tab=problems"]]) {
    await page.evaluate((next) => (location.hash = next), hash);
    await part(name).waitFor({ state: "attached" });
    await page.locator(`[data-part="${name}"] td`).first().waitFor();
    assert.deepEqual(await page.evaluate(brokenWords), [], name);
    const frame = page.locator(`[data-part="${name}"] [role="group"]`).first();
    assert.ok(await frame.evaluate((box) => box.scrollWidth > box.clientWidth), `${name} scrolls by itself`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} leaves the page as wide as it is`);
  }
  check();
});

test("what a store is and takes stands in its row, and a turn that nobody runs says so", async () => {
  const answers = { ...HEALTH, "GET /system/leases": { items: [...LEASES.items, ORPHAN], next: null } };
  const { page, part, check } = await openRecorded(ambit, "#/system", answers);
  await part("leases").waitFor({ state: "attached" });
  const cells = (id, names) => Promise.all(names.map((name) => page.locator(`tr[data-id="${id}"] [data-column="${name}"]`).innerText()));
  assert.deepEqual(await cells("main", ["kind", "bytes"]), ["sqlite", "4.1 kB"]);
  assert.deepEqual(await cells("cache", ["kind", "bytes"]), ["redis", "–"]);
  assert.deepEqual(await cells("r1", ["context", "node", "epoch", "waiting"]), ["c1", "n1", "3", "2"]);
  assert.deepEqual(await cells("r2", ["context", "node", "epoch", "expires_at", "waiting"]), ["–", "–", "–", "–", "0"]);
  check();
});

test("a store of the server says what it takes, and a turn is among the leases as long as it runs", async () => {
  const body = { model: "speaker", chat_id: "slow", stream: true, messages: [{ role: "user", content: "Count slowly" }] };
  const answer = await fetch(`${busy.server.api}/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  await answer.body.cancel();
  const { stores } = await (await fetch(`${busy.server.api}/system`)).json();
  const { name, kind } = stores.find(({ role }) => role === "primary");
  const { page, part, check } = await busy.open("#/system");
  await part("health").waitFor({ state: "attached" });
  const cell = (column) => page.locator(`[data-part="health"] tr[data-id="${name}"] [data-column="${column}"]`).innerText();
  assert.equal(await cell("kind"), kind);
  assert.match(await cell("bytes"), /^[0-9]/);
  const lease = page.locator(`[data-part="leases"] tr[data-id="${answer.headers.get("x-ambit-request")}"]`);
  await lease.waitFor();
  // The model may not have been asked yet.
  await settles(async () => (model.release(), lease.count()), 0);
  check();
});

test("tabs that are not granted are not shown, and a line says so", async () => {
  const grants = ["GET /system"];
  const { page, part, check } = await openRecorded(ambit, "#/system?tab=doctor", HEALTH, { grants });
  await part("health").waitFor({ state: "attached" });
  assert.equal(await page.locator('[role="tab"]').count(), 1);
  assert.match(await page.locator('[data-note="not-granted"]').textContent(), /POST \/system\/doctor.*GET \/system\/leases/);
  check();
});

test("problems of the app in force and of a refused reload stand apart", async () => {
  const problems = { loaded_at: AT, problems: [], refused: { at: AT, problems: [PROBLEM] } };
  const { page, part, check } = await openRecorded(ambit, "#/system?tab=problems", { ...HEALTH, "GET /app/problems": problems });
  await part("problems").waitFor({ state: "attached" });
  await page.locator('[data-group="refused"] tr', { hasText: "assistants/a/package.yao" }).waitFor();
  await assertText(page, "problems");
  check();
});

test("an app without problems says so", async () => {
  const answers = { ...HEALTH, "GET /app/problems": { loaded_at: AT, problems: [], refused: null } };
  const { part, check } = await openRecorded(ambit, "#/system?tab=problems", answers);
  await part("problems", "empty").waitFor();
  check();
});

test("the doctor's findings are shown, and repair asks first", async () => {
  const finding = { place: HOSTILE, what: "its index row is missing", mended: false };
  const answers = {
    ...HEALTH,
    "POST /system/doctor": () => stream(["finding", finding], ["missed", { count: 7 }], ["done", { rows: 3, left: 1, mended: 0, swept: 2 }]),
    "POST /system/repair": () => stream(["finding", { ...finding, mended: true }], ["done", { rows: 3, left: 0, mended: 1, swept: 0 }]),
  };
  const { page, part, action, requests, check } = await openRecorded(ambit, "#/system?tab=doctor", answers);
  await part("doctor", "empty").waitFor();
  await action("doctor").click();
  await page.locator('[data-note="outcome"]', { hasText: "3 contexts: 1 findings are left" }).waitFor();
  await page.getByText("7 further findings").waitFor();
  await assertText(page, "doctor");
  await action("repair").click();
  await action("cancel").click();
  const writes = () => requests.filter(({ path }) => path === "/system/repair").length;
  assert.equal(writes(), 0);
  await action("repair").click();
  await action("confirm").click();
  await page.locator('[data-note="outcome"]', { hasText: "1 are mended" }).waitFor();
  assert.equal(writes(), 1);
  check();
});

test("the stores of the server are examined and mended, one examination after the other", async () => {
  const { page, action, check } = await ambit.open("#/system?tab=doctor");
  const outcome = page.locator('[data-note="outcome"]', { hasText: /^Looked at \d+ contexts: 0 findings are left, 0 are mended;/ });
  await action("doctor").click();
  await outcome.waitFor();
  const repaired = page.waitForResponse(/\/system\/repair$/);
  await action("repair").click();
  await action("confirm").click();
  await (await repaired).finished();
  await outcome.waitFor();
  const answer = await fetch(`${ambit.server.api}/system/doctor`, { method: "POST" });
  assert.match(await answer.text(), /event: ?done\b[^]*"left": ?0\b/);
  check();
});

test("an examination that breaks off or is refused says so", async () => {
  const answers = { ...HEALTH, "POST /system/doctor": () => stream(["finding", { place: "main", what: "odd", mended: false }]) };
  const { page, action, check } = await openRecorded(ambit, "#/system?tab=doctor", answers);
  await action("doctor").click();
  await page.getByText("The connection ended before").waitFor();
  check();
  const refusal = { error: { code: "conflict", message: "the stores are being examined" } };
  const second = await openRecorded(ambit, "#/system?tab=doctor", { ...HEALTH, "POST /system/doctor": () => ({ status: 409, body: refusal }) });
  await second.action("doctor").click();
  await second.part("doctor", "error").waitFor();
  await second.page.getByText("the stores are being examined").waitFor();
});

test("metrics become lines with a table, after the second reading", async () => {
  let requests = 0;
  const metrics = () => ({ type: "text/plain", body: `ambit_http_requests_total{method="GET",route="/v1/usage",status="200"} ${(requests += 50)}\nambit_streams_open 4\n` });
  const { page, part, check } = await openRecorded(ambit, "#/system?tab=metrics", { ...HEALTH, "GET /metrics": metrics });
  await part("metrics", "empty").waitFor();
  await part("metrics").waitFor({ state: "attached" });
  await settles(() => page.locator('[data-part="metrics"] svg[role="img"]').count(), 4);
  await page.locator('[data-part="metrics"] summary').click();
  const cells = await page.locator('[data-part="metrics"] tbody tr').first().locator("td").allTextContents();
  assert.equal(cells[4].trim(), "4");
  check();
});

test("events come by themselves, are filtered and held", async () => {
  const { page, part, action, check } = await openRecorded(ambit, "#/system?tab=events&type=MessageAdded", HEALTH);
  await part("events", "empty").waitFor();
  const first = page.locator('[data-part="events"] tbody tr').first();
  // What happened before the feed was open is not told.
  await settles(async () => {
    await say(ambit.server, "events", "Hello");
    return (await first.count()) > 0;
  }, true);
  await action("pause").click();
  await page.locator('[data-action="pause"][aria-pressed="true"]').waitFor();
  const names = await page.locator('[data-column="name"]').allTextContents();
  assert.ok(names.every((name) => name.trim() === "MessageAdded"), names.join());
  const before = names.length;
  await say(ambit.server, "events", "Hello again");
  await page.waitForFunction(() => /[1-9]/.test(document.querySelector('[data-action="pause"]').textContent));
  assert.equal(await page.locator('[data-part="events"] tbody tr').count(), before);
  await action("pause").click();
  await page.waitForFunction((count) => document.querySelectorAll('[data-part="events"] tbody tr').length > count, before);
  await page.locator('[data-part="events"] tbody tr a').first().press("Enter");
  await page.waitForURL(/#\/(turns\/|contexts\?)/);
  check();
});
