import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertLooks } from "./support/looks.mjs";
import { granting } from "./support/recorded.mjs";
import { settles } from "./support/wait.mjs";

const FILES = { "connectors/embedder.conn.yao": JSON.stringify({ label: "Embedder", type: "scripted", options: { model: "words-1" } }) };
const HOSTILE = ["<img src=x onerror=document.title=1>.md", "\u202etxt.exe", "a,b c?d#e%2f.md"];
const LONG = Array.from({ length: 60 }, (_, at) => `# Part ${at}\n\nThe lamp number ${at} is kept in room ${at}. It is red, and it shines.`).join("\n\n");

const ambit = useConsole("knowledge", async (server) => {
  await makeCollection(server.api, { id: "shop", name: "Shop", description: "What we sell", embedding: "embedder" });
  await addText(server.api, "shop", { text: LONG, name: "lamps.md", metadata: { year: 2024 } });
  await addText(server.api, "shop", { text: "Pianos are not taken back.", name: "pianos.md", metadata: { year: 2020 } });
  for (const id of ["bare", "several", "aborted", "refused", "kept", "again"]) await makeCollection(server.api, { id });
  await addText(server.api, "again", { text: LONG, name: "lamps.md" });
}, FILES);

async function post(url, body) {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${url} ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}
const makeCollection = (api, body) => post(`${api}/kb/collections`, body);
/** Adds a text and waits until it is found. */
const addText = (api, collection, body) => post(`${api}/kb/collections/${collection}/documents/text`, body);

const read = async (path) => (await fetch(`${ambit.server.api}/kb/${path}`)).json();
const documents = async (collection) => (await read(`collections/${collection}/documents?pagesize=100`)).data;
const documentNamed = async (collection, name) => (await documents(collection)).find((found) => found.name === name);
const ids = (page, part) => page.locator(`main [aria-label="${part}"] tr[data-id]`).evaluateAll((rows) => rows.map((row) => row.dataset.id));
const file = (name, text) => ({ name, mimeType: "text/markdown", buffer: Buffer.from(text) });
const state = (page, id) => page.locator(`tr[data-id="${id}"] td[data-column="status"]`);

test("the collections and their documents are those of the API", async () => {
  const { page, part, check } = await ambit.open("#/knowledge");
  await part("collections").waitFor({ state: "attached" });
  await settles(() => ids(page, "Collections"), async () => (await read("collections")).data.map((found) => found.collection_id));
  await page.locator('tr[data-id="shop"] a').click();
  await part("documents").waitFor({ state: "attached" });
  await settles(() => ids(page, "Documents"), async () => (await documents("shop")).map((found) => found.document_id));
  await page.waitForFunction(() => document.title.startsWith("shop · Knowledge"));
  await page.evaluate(() => (location.hash = "#/knowledge/bare"));
  await part("documents", "empty").waitFor();
  await page.evaluate(() => (location.hash = "#/knowledge/jiff"));
  await page.getByText("a file of the app: it is changed there").waitFor();
  for (const name of ["upload", "add-text", "add-url", "reindex", "remove-collection"]) {
    assert.equal(await page.locator(`[data-action="${name}"]`).count(), 0, name);
  }
  check();
});

test("indexing again that cannot be ended says why", async () => {
  const { page, action, check } = await ambit.open("#/contexts");
  await page.route(/\/kb\/collections\/bare$/, async (route) => {
    const collection = await (await route.fetch()).json();
    await route.fulfill({ json: { ...collection, reindex: { job_id: "again", done: 1, total: 2 } } });
  });
  const error = { code: "internal", message: "the store is away" };
  await page.route(/\/kb\/jobs\/again$/, (route) => route.fulfill({ status: 500, json: { error } }));
  await page.evaluate(() => (location.hash = "#/knowledge/bare"));
  await action("cancel-reindex").click();
  await page.locator('[role="alert"]', { hasText: error.message }).waitFor();
  check(/^console: Failed to load resource: .* status of 500/);
});

test("without collections it says what makes one, and a dropped file does", async () => {
  const { page, part, action, check } = await ambit.open("#/contexts");
  const empty = { data: [], page: 1, pagesize: 50, pagecnt: 0, total: 0, next: -1, prev: -1 };
  await page.route(/\/v1\/kb\/collections\?/, (route) => route.fulfill({ json: empty }), { times: 1 });
  await page.evaluate(() => (location.hash = "#/knowledge"));
  await part("collections", "empty").waitFor();
  await page.getByText("Drop a file to begin.").waitFor();
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["The dropped lamp."], "dropped.md", { type: "text/markdown" }));
    document.querySelector("h1").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  });
  await page.locator('dialog input[name="id"]').fill("dropped");
  await action("make").click();
  await page.waitForURL(/#\/knowledge\/dropped$/);
  await page.locator('[data-part="documents"] tr[data-id]').waitFor();
  await settles(async () => (await documents("dropped")).map((found) => found.name), ["dropped.md"]);
  check();
});

test("several files are uploaded, and become ready by themselves", async () => {
  const { page, check } = await ambit.open("#/knowledge/several");
  const names = [...HOSTILE, "good.md"];
  await page.locator('input[name="files"]').setInputFiles(names.map((name) => file(name, `# ${name}\n\nThe text of it.`)));
  await page.waitForFunction((count) => document.querySelectorAll('[data-upload="done"]').length === count, names.length);
  for (const { document_id, name } of await documents("several")) {
    assert.ok(names.includes(name), name);
    await state(page, document_id).filter({ hasText: /^ready$|^failed/ }).waitFor();
  }
  assert.equal((await documents("several")).length, names.length);
  assert.equal(await page.locator("main img, main svg").count(), 0);
  assert.match(await page.locator('[data-part="uploads"]').innerText(), /\\u202etxt\.exe/);
  await page.locator('[data-action="forget"]').click();
  await page.locator("[data-upload]").first().waitFor({ state: "detached" });
  check();
});

test("an upload says how far it is, and can be aborted and sent again", async () => {
  const { page, context, check } = await ambit.open("#/knowledge/aborted");
  const network = await context.newCDPSession(page);
  await network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 30_000 });
  await page.locator('input[name="files"]').setInputFiles(file("slow.md", `# Slow\n\n${"word ".repeat(400_000)}`));
  await page.waitForFunction(() => document.querySelector('[data-part="uploads"] progress')?.value > 0);
  await page.locator('[data-upload="sending"] [data-action="abort"]').click();
  await page.locator('[data-upload="stopped"]').waitFor();
  assert.equal(await documentNamed("aborted", "slow.md"), undefined);
  await network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await page.locator('[data-action="send-again"]').click();
  await page.locator('[data-upload="done"]').waitFor();
  assert.notEqual(await documentNamed("aborted", "slow.md"), undefined);
  check();
});

test("a file that is refused says why", async () => {
  const { page, part } = await ambit.open("#/knowledge/refused");
  await part("collection").waitFor({ state: "attached" });
  await page.route(/\/v1\/kb\/collections\/refused\/documents$/, (route) =>
    route.fulfill({ status: 413, json: { error: { code: "limit_exceeded", message: "the file is larger than 64 MiB" } } }),
  );
  await page.locator('input[name="files"]').setInputFiles(file("huge.md", "huge"));
  await page.locator('[data-upload="failed"]', { hasText: "refused: the file is larger than 64 MiB" }).waitFor();
});

test("an upload that is refused says why, keeps its file, and is sent again by hand alone", async () => {
  const { page, part, check } = await ambit.open("#/knowledge/kept");
  await part("collection").waitFor({ state: "attached" });
  const asked = [];
  const refusals = [403, 404, 409, 410, 429, 500, 503, "cut"];
  await page.route(/\/v1\/kb\/collections\/kept\/documents$/, (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const status = refusals[asked.length];
    asked.push(status);
    if (status === "cut") return route.abort();
    return route.fulfill({ status, json: { error: { code: "refused", message: `refused with ${status}` } } });
  });
  await page.locator('input[name="files"]').setInputFiles(refusals.map((status) => file(`${status}.md`, `The lamp ${status}.`)));
  for (const status of refusals) {
    const why = status === "cut" ? "the server cannot be reached" : `refused with ${status}`;
    await page.locator(`[data-upload="failed"][data-id="${status}.md"]`, { hasText: why }).waitFor();
  }
  assert.deepEqual(asked, refusals);
  assert.deepEqual(await documents("kept"), []);
  await page.unroute(/\/v1\/kb\/collections\/kept\/documents$/);
  await page.locator('[data-id="500.md"] [data-action="send-again"]').click();
  await page.locator('[data-upload="done"][data-id="500.md"]').waitFor();
  await settles(async () => (await documents("kept")).map((found) => found.name), ["500.md"]);
  check(/^console: Failed to load resource/);
});

test("a text and an address are added, and what fails says why", async () => {
  const { page, part, action, check } = await ambit.open("#/knowledge/shop");
  await part("documents").waitFor({ state: "attached" });
  await action("add-text").click();
  await page.locator('dialog input[name="name"]').fill("note.md");
  await page.locator("dialog textarea").fill("The shop closes at six.");
  await action("add").click();
  await page.locator("dialog").waitFor({ state: "detached" });
  const note = await documentNamed("shop", "note.md");
  await state(page, note.document_id).filter({ hasText: "ready" }).waitFor();
  await action("add-url").click();
  await page.locator('dialog input[name="url"]').fill("http://127.0.0.1:9/page");
  await action("add").click();
  await page.locator('[data-part="documents"] td[data-column="status"]', { hasText: /^failed: ./ }).waitFor();
  const failed = (await documents("shop")).find((found) => found.status === "failed");
  await settles(() => state(page, failed.document_id).innerText(), `failed: ${failed.error}`);
  check();
});

test("g195_filters_and_the_open_document_survive_a_reload_and_the_way_back", async () => {
  const { page, part, check } = await ambit.open("#/knowledge/shop");
  await part("documents").waitFor({ state: "attached" });
  await page.locator('input[name="keywords"]').fill("lamps");
  await page.waitForFunction(() => document.querySelectorAll('[data-part="documents"] tr[data-id]').length === 1);
  await page.reload();
  await part("documents").waitFor({ state: "attached" });
  const { document_id } = await documentNamed("shop", "lamps.md");
  await settles(() => ids(page, "Documents"), [document_id]);
  await page.locator(`tr[data-id="${document_id}"] a`).click();
  await part("chunks").waitFor({ state: "attached" });
  await page.reload();
  await part("chunks").waitFor({ state: "attached" });
  const chunks = () => page.locator('[data-part="chunks"] li').evaluateAll((all) => all.map((one) => one.dataset.id));
  const { segments } = await read(`documents/${document_id}/segments?limit=100`);
  await settles(chunks, segments.slice(0, 50).map((chunk) => chunk.id));
  await page.locator('[data-action="more-chunks"]').click();
  await page.waitForFunction((count) => document.querySelectorAll('[data-part="chunks"] li').length === count, segments.length);
  assert.match(await page.locator('[data-part="chunks"] li').nth(2).innerText(), /#2 Part 2\s+characters/);
  await page.goBack();
  await part("document").waitFor({ state: "detached" });
  await page.waitForURL(/#\/knowledge\/shop\?keywords=lamps$/);
  check();
});

test("Esc goes back from a document, then from its collection", async () => {
  const { document_id } = await documentNamed("shop", "pianos.md");
  const { page, part, check } = await ambit.open(`#/knowledge/shop?document=${document_id}`);
  await part("chunks").waitFor({ state: "attached" });
  await page.locator('[data-action="close-document"]').focus();
  await page.keyboard.press("Escape");
  await page.waitForURL(/#\/knowledge\/shop$/);
  await part("documents").waitFor({ state: "attached" });
  await page.waitForFunction(() => document.activeElement?.closest('[role="group"]') !== null);
  await page.keyboard.press("Escape");
  await page.waitForURL(/#\/knowledge$/);
  await page.waitForFunction(() => document.activeElement?.closest("tr")?.dataset.id === "shop");
  check();
});

test("a search says where an item is and why it was found; its question is in the URL", async () => {
  const { page, part, action, check } = await ambit.open("#/knowledge/shop?tab=search");
  await part("search", "empty").waitFor();
  await page.locator('input[name="q"]').fill("pianos taken back");
  await page.keyboard.press("Enter");
  await part("search").waitFor({ state: "attached" });
  const found = () => page.locator('[data-part="search"] ol > li').evaluateAll((all) => all.map((one) => one.dataset.id));
  const search = (body) => post(`${ambit.server.api}/kb/search`, { collections: ["shop"], ...body });
  const { items } = await search({ query: "pianos taken back" });
  await settles(found, items.map((item) => item.chunk_id));
  const { words, vector } = items[0].metadata.ranking;
  const why = await page.locator('[data-part="search"] ol > li ul').first().innerText();
  assert.ok(why.includes(`score ${items[0].score.toFixed(3)}`), why);
  assert.ok(why.includes(`by words: place ${words.rank} (BM25 ${words.bm25.toFixed(3)})`), why);
  assert.ok(why.includes(`by meaning: place ${vector.rank} (cosine ${vector.cosine.toFixed(3)}, threshold 0.7)`), why);

  await page.locator('input[name="metadata"]').fill("[");
  await action("search").click();
  await page.getByText("The filter is no JSON object").waitFor();
  await page.locator('input[name="metadata"]').fill('{"year": {"$gte": 2024}}');
  await page.locator('input[name="limit"]').fill("3");
  await page.locator('input[name="q"]').fill("red lamp");
  await action("search").click();
  await page.waitForURL(/q=red\+lamp/);
  await page.waitForFunction(() => document.querySelectorAll('[data-part="search"] ol > li').length === 3);
  await page.reload();
  await part("search").waitFor({ state: "attached" });
  const filtered = await search({ query: "red lamp", limit: 3, metadata: { year: { $gte: 2024 } } });
  await settles(found, filtered.items.map((item) => item.chunk_id));
  check();
});

test("g189_text_of_a_document_is_text", async () => {
  await makeCollection(ambit.server.api, { id: "strange" });
  // What stands in code is text of the document; other tags are not.
  const text = "A lamp. `<img src=https://example.org/x onerror=\"document.title='run'\">` `<script>document.title='run'</script>`";
  await addText(ambit.server.api, "strange", { text, name: HOSTILE[0] });
  const { document_id } = await documentNamed("strange", HOSTILE[0]);
  const { page, part, check } = await ambit.open(`#/knowledge/strange?document=${document_id}`);
  for (const name of ["chunks", "search"]) {
    await part(name).filter({ hasText: "<img src=https://example.org/x" }).waitFor({ state: "attached" });
    assert.equal(await page.locator("main img, main script, main [onerror]").count(), 0);
    assert.doesNotMatch(await page.title(), /run$/);
    await page.evaluate(() => (location.hash = "#/knowledge/strange?tab=search&q=lamp"));
  }
  check();
});

test("by words alone it says that there are no vectors, and nothing found is empty", async () => {
  const { page, part, check } = await ambit.open("#/knowledge/jiff");
  const ready = '[data-part="documents"] td[data-column="status"]';
  await page.waitForFunction((cells) => [...document.querySelectorAll(cells)].filter((cell) => cell.innerText === "ready").length === 3, ready);
  await page.evaluate(() => (location.hash = "#/knowledge/jiff?tab=search&q=time+zone"));
  await part("search").waitFor({ state: "attached" });
  assert.match(await page.locator('[data-part="search"] ol > li ul').first().innerText(), /no vectors in this collection/);
  await page.evaluate(() => (location.hash = "#/knowledge/jiff?tab=search&q=xyzzyplugh"));
  await part("search", "empty").waitFor();
  await page.getByText("Nothing was found.").waitFor();
  check();
});

test("a collection is indexed again with other chunks", async () => {
  const { page, part, action, check } = await ambit.open("#/knowledge/again");
  await part("documents").waitFor({ state: "attached" });
  const before = await read("collections/again");
  await action("reindex").click();
  await page.locator('dialog input[name="size"]').fill("120");
  await page.locator('dialog input[name="overlap"]').fill("10");
  await action("begin-reindex").click();
  await page.locator('[data-part="collection"] dd', { hasText: /^120, 10$/ }).waitFor();
  const after = await read("collections/again");
  assert.deepEqual(after.chunk, { size: 120, overlap: 10 });
  assert.ok(after.version > before.version);
  check();
});

test("a document and a collection are removed after a question, by keys alone", async () => {
  await makeCollection(ambit.server.api, { id: "going" });
  await addText(ambit.server.api, "going", { text: "One.", name: "one.md" });
  await addText(ambit.server.api, "going", { text: "Two.", name: "two.md" });
  const { document_id } = await documentNamed("going", "one.md");
  const { page, action, check } = await ambit.open("#/knowledge/going");
  await page.locator(`tr[data-id="${document_id}"] a`).focus();
  await page.keyboard.press("Enter");
  // A read that is under way when it goes is answered 404, which the browser writes down.
  check();
  await action("remove").focus();
  await page.keyboard.press("Enter");
  await action("confirm").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll('[data-part="documents"] tr[data-id]').length === 1);
  assert.deepEqual((await documents("going")).map((found) => found.name), ["two.md"]);

  await action("remove-collection").focus();
  await page.keyboard.press("Enter");
  assert.equal(await action("confirm").isDisabled(), true);
  await page.locator('input[name="confirm"]').focus();
  await page.keyboard.type("going");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/knowledge$/);
  await page.locator('tr[data-id="going"]').waitFor({ state: "detached" });
  assert.equal((await fetch(`${ambit.server.api}/kb/collections/going`)).status, 404);
});

test("who may only read sees no way to change anything", async () => {
  const grants = ambit.session.grants.filter((operation) => operation.startsWith("GET ") || operation === "POST /kb/search");
  const { page, part, action, check } = await ambit.open("#/knowledge/shop", { prepare: granting(ambit, grants) });
  await part("documents").waitFor({ state: "attached" });
  for (const name of ["new", "upload", "add-text", "add-url", "reindex", "remove-collection"]) assert.equal(await action(name).count(), 0, name);
  assert.equal(await page.locator('[role="tab"][data-tab="search"]').count(), 1);
  check();
});

test("axe finds nothing in any look", async () => {
  const { document_id } = await documentNamed("shop", "pianos.md");
  const hashes = ["#/knowledge", "#/knowledge/shop", `#/knowledge/shop?document=${document_id}`, "#/knowledge/shop?tab=search&q=lamp"];
  await assertLooks(ambit, hashes, async (page, hash) => {
    const part = hash.includes("search") ? "search" : hash.includes("document=") ? "chunks" : hash.includes("shop") ? "documents" : "collections";
    await page.locator(`[data-part="${part}"][data-state="ready"]`).waitFor({ state: "attached" });
  });
});
