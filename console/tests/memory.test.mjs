import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertLooks } from "./support/looks.mjs";
import { granting } from "./support/recorded.mjs";
import { say, UNCONSTRAINED } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const HOSTILE = ["<script>document.title = 'run'</script>", "a/b c?d#e%2f", "\u202egnp.exe", "中文 ключ", "'; DROP TABLE x; --"];

const ambit = useConsole("memory", async (server) => {
  const put = (path, body) => put204(`${server.api}/memory/${path}`, body);
  await put("user/keys/name", { value: "Ann" });
  await put("user/keys/lamp", { value: { colour: "red", price: 30 }, ttl: "2h" });
  for (const key of HOSTILE) await put(`user/keys/${encodeURIComponent(key)}`, { value: `<img src=x onerror=alert(1)> ${key}` });
  await say(server, "talk", "Hello", "memory");
  await put("chat/talk/keys/topic", { value: "lamps" });
  await put("user/bob/keys/name", { value: "Bob" });
}, UNCONSTRAINED);

async function put204(url, body) {
  const answer = await fetch(url, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(answer.status, 204, url);
}

const read = async (path) => (await fetch(`${ambit.server.api}/memory/${path}`)).json();
const write = (path, body) => put204(`${ambit.server.api}/memory/${path}`, body);
const ids = (page) => page.locator("tr[data-id]").evaluateAll((rows) => rows.map((row) => row.dataset.id));
const row = async (key) => (await read("user?pagesize=100")).data.find((found) => found.key === key);
const saved = (page) => page.getByText("Saved.", { exact: true }).waitFor();

test("the table shows the keys of the API, one's own at first", async () => {
  const { page, part, check } = await ambit.open("#/memory");
  await part("key-table").waitFor({ state: "attached" });
  assert.match(page.url(), /#\/memory\/user$/);
  await settles(() => ids(page), async () => (await read("user?pagesize=50")).data.map((found) => found.key));
  check();
});

test("a space without a key says what makes one, and one that is none says so", async () => {
  const { page, part, check } = await ambit.open("#/memory/team");
  await part("key-table", "empty").waitFor();
  await page.getByText("ctx.memory.user.Set").waitFor();
  await page.evaluate(() => (location.hash = "#/memory/context"));
  await page.getByText("memory.context lives in its turn alone").waitFor();
  await page.evaluate(() => (location.hash = "#/memory/chat"));
  await page.getByText("Choose a chat.").waitFor();
  check();
});

test("g195_pattern_and_key_survive_a_reload_and_the_way_back", async () => {
  const { page, part, check } = await ambit.open("#/memory/user");
  await part("key-table").waitFor({ state: "attached" });
  await page.locator('input[name="pattern"]').fill("na*");
  await page.waitForURL(/pattern=na/);
  await page.waitForFunction(() => document.querySelectorAll("tr[data-id]").length === 1);
  await page.locator("tr[data-id] a").click();
  await part("value").waitFor({ state: "attached" });
  await page.reload();
  await part("value").waitFor({ state: "attached" });
  await settles(() => ids(page), ["name"]);
  assert.match(page.url(), /pattern=na\*&key=name|pattern=na%2A&key=name/);
  await page.goBack();
  await part("value").waitFor({ state: "detached" });
  check();
});

test("g197_what_is_edited_is_saved_and_its_end_stays_changes_or_goes_as_asked", async () => {
  const { page, action, check } = await ambit.open("#/memory/user?key=lamp");
  const before = await row("lamp");
  await page.locator('textarea[name="value"]').fill('{"colour": "blue"}');
  await action("save").click();
  await saved(page);
  await settles(async () => (await read("user/keys/lamp")).value, { colour: "blue" });
  assert.equal((await row("lamp")).expires_at, before.expires_at);

  await page.locator('select[name="ttl"]').selectOption("set");
  await page.locator('input[name="ttl-value"]').fill("7d");
  await action("save").click();
  await page.waitForFunction(() => document.querySelector('select[name="ttl"]').value === "keep");
  assert.ok((await row("lamp")).expires_at > Date.now() + 6 * 86_400_000);

  await page.locator('select[name="ttl"]').selectOption("none");
  await action("save").click();
  await page.waitForFunction(() => document.querySelector('select[name="ttl"]').value === "keep");
  assert.equal((await row("lamp")).expires_at, null);
  check();
});

test("a time to live that the server refuses is said, and nothing written is lost", async () => {
  const { page, action } = await ambit.open("#/memory/user?key=lamp");
  await page.locator('textarea[name="value"]').fill('"kept"');
  await page.locator('select[name="ttl"]').selectOption("set");
  await page.locator('input[name="ttl-value"]').fill("soon");
  await action("save").click();
  await page.locator('form [role="alert"]').waitFor();
  assert.equal(await page.locator('textarea[name="value"]').inputValue(), '"kept"');
});

test("what is no JSON is said and cannot be saved; numbers keep all their digits", async () => {
  const { page, action, check } = await ambit.open("#/memory/user?key=name");
  await page.locator('textarea[name="value"]').fill("{");
  await page.getByText("This is no JSON").waitFor();
  assert.equal(await action("save").isDisabled(), true);
  await page.locator('textarea[name="value"]').fill("[9007199254740993]");
  await action("save").click();
  await saved(page);
  assert.match(await (await fetch(`${ambit.server.api}/memory/user/keys/name`)).text(), /9007199254740993/);
  await page.reload();
  await page.locator('textarea[name="value"]').waitFor();
  assert.match(await page.locator('textarea[name="value"]').inputValue(), /9007199254740993/);
  check();
});

test("a draft survives a reload, until it is discarded", async () => {
  const { page, action, check } = await ambit.open("#/memory/user?key=lamp");
  await page.locator('textarea[name="value"]').fill('"draft"');
  await page.reload();
  await page.getByText("Your changes are not saved yet.").waitFor();
  await settles(() => page.locator('textarea[name="value"]').inputValue(), '"draft"');
  await action("discard").click();
  await page.reload();
  await page.locator('textarea[name="value"]').waitFor();
  assert.notEqual(await page.locator('textarea[name="value"]').inputValue(), '"draft"');
  check();
});

test("g197_of_two_who_edit_one_key_one_is_told_and_may_take_theirs_or_overwrite", async () => {
  await write("user/keys/shared", { value: { a: 1, b: 2 } });
  const { page, part, action } = await ambit.open("#/memory/user?key=shared");
  const field = page.locator('textarea[name="value"]');
  const lines = (kind) => page.locator(`[data-part="conflict"] [data-change="${kind}"]`).allInnerTexts();

  await field.fill('{\n  "a": 1,\n  "b": 3\n}');
  await write("user/keys/shared", { value: { a: 1, b: 4 } });
  await action("save").click();
  await part("conflict").waitFor();
  await page.locator('[data-change="added"]').waitFor();
  assert.match((await lines("gone")).join(""), /− {3}"b": 4/);
  assert.match((await lines("added")).join(""), /\+ {3}"b": 3/);
  assert.deepEqual((await read("user/keys/shared")).value, { a: 1, b: 4 });
  await action("overwrite").click();
  await saved(page);
  await settles(async () => (await read("user/keys/shared")).value, { a: 1, b: 3 });

  await field.fill('"mine"');
  await write("user/keys/shared", { value: "theirs" });
  await action("save").click();
  await action("take-theirs").click();
  await part("conflict").waitFor({ state: "detached" });
  assert.equal(await field.inputValue(), '"theirs"');
  assert.equal((await read("user/keys/shared")).value, "theirs");

  await field.fill('"again"');
  await fetch(`${ambit.server.api}/memory/user/keys/shared`, { method: "DELETE" });
  await action("save").click();
  await page.getByText("Somebody else has deleted it.").waitFor();
  await action("overwrite").click();
  await part("conflict").waitFor({ state: "detached" });
  await saved(page);
  await settles(async () => (await read("user/keys/shared")).value, "again");
});

test("a value that cannot be read again after a conflict is said, and nothing written is lost", async () => {
  await write("user/keys/away", { value: 1 });
  const { page, action } = await ambit.open("#/memory/user?key=away");
  await page.locator('textarea[name="value"]').fill('"mine"');
  await write("user/keys/away", { value: 2 });
  const error = { code: "internal", message: "the store is away" };
  await page.route(/\/memory\/user\/keys\/away/, (route) =>
    route.request().method() === "GET" ? route.fulfill({ status: 500, json: { error } }) : route.continue(),
  );
  await action("save").click();
  await page.locator('form [role="alert"]', { hasText: error.message }).waitFor();
  assert.equal(await page.locator('textarea[name="value"]').inputValue(), '"mine"');
  assert.equal((await read("user/keys/away")).value, 2);
});

test("g197_a_key_is_made_where_there_is_none_of_its_name", async () => {
  const { page, part, action } = await ambit.open("#/memory/user");
  await part("key-table").waitFor({ state: "attached" });
  await action("new").click();
  await page.locator('dialog input[name="key"]').fill("name");
  await page.locator('dialog textarea[name="value"]').fill('{"made": true}');
  await page.locator('dialog [data-action="save"]').click();
  await page.getByText("There is a key of this name by now.").waitFor();
  await page.locator('dialog input[name="key"]').fill("made/here");
  await page.locator('dialog [data-action="save"]').click();
  await page.waitForURL(/key=made%2Fhere/);
  await page.locator('tr[data-id="made/here"]').waitFor();
  assert.deepEqual((await read("user/keys/made%2Fhere")).value, { made: true });
});

test("g197_a_key_is_deleted_after_a_question_unless_it_has_changed_meanwhile", async () => {
  await write("user/keys/going", { value: 1 });
  const { page, action } = await ambit.open("#/memory/user?key=going");
  await action("remove").click();
  await page.locator("dialog code", { hasText: "going" }).waitFor();
  await write("user/keys/going", { value: 2 });
  await action("confirm").click();
  await page.getByText("It has changed since you read it.").waitFor();
  assert.equal((await read("user/keys/going")).value, 2);
  await action("remove").click();
  await action("confirm").click();
  await page.waitForURL(/#\/memory\/user$/);
  await page.locator('tr[data-id="going"]').waitFor({ state: "detached" });
  assert.equal((await fetch(`${ambit.server.api}/memory/user/keys/going`)).status, 404);
});

test("g189_keys_and_values_of_strangers_are_text_and_can_be_edited", async () => {
  for (const key of HOSTILE) {
    const { page, part, action, check } = await ambit.open(`#/memory/user?key=${encodeURIComponent(key)}`);
    await part("value").waitFor({ state: "attached" });
    const heading = await page.locator('[data-part="value"] h2').innerText();
    assert.equal(heading, key.replace("\u202e", "\\u202e"));
    await page.locator('textarea[name="value"]').fill('"changed"');
    await action("save").click();
    await saved(page);
    await settles(async () => (await read(`user/keys/${encodeURIComponent(key)}`)).value, "changed");
    assert.match(await page.title(), /Ambit$/);
    check();
    await page.context().close();
  }
});

test("a chat's memory is found by its context, and another user's by name", async () => {
  const { items } = await (await fetch(`${ambit.server.api}/contexts?scope=chatHistory&chat=talk`)).json();
  const { page, part, action, check } = await ambit.open("#/memory/chat");
  await page.locator('select[name="context"]').selectOption(items[0].id);
  await page.waitForURL(new RegExp(`#/memory/chat\\?context=${items[0].id}$`));
  await page.locator('tr[data-id="topic"] a').click();
  await page.locator('textarea[name="value"]').fill('"pianos"');
  await action("save").click();
  await saved(page);
  await settles(async () => (await read("chat/talk/keys/topic")).value, "pianos");
  await page.locator('select[name="space"]').selectOption("user");
  await page.locator('input[name="owner"]').fill("bob");
  await action("show-owner").click();
  await page.waitForURL(/#\/memory\/user%2Fbob$/);
  await page.locator('tr[data-id="name"] a').click();
  await part("value").waitFor({ state: "attached" });
  await settles(() => page.locator('textarea[name="value"]').inputValue(), '"Bob"');
  check();
});

test("a key is opened, edited and left by keys alone", async () => {
  const { page, part, check } = await ambit.open("#/memory/user?pattern=la*");
  await part("key-table").waitFor({ state: "attached" });
  await page.locator("tr[data-id] a").first().focus();
  await page.keyboard.press("Enter");
  await page.locator('textarea[name="value"]').focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.type('"by keys"');
  for (let steps = 0; steps < 3; steps += 1) await page.keyboard.press("Tab");
  await settles(() => page.evaluate(() => document.activeElement.dataset.action), "save");
  await page.keyboard.press("Enter");
  await saved(page);
  await settles(async () => (await read("user/keys/lamp")).value, "by keys");
  check();
});

test("who may not write sees no way to, and whoever has constraints only what is theirs", async () => {
  const grants = ambit.session.grants.filter((operation) => !/^(PUT|DELETE) /.test(operation));
  const prepare = granting({ session: { ...ambit.session, constraints: { owner_only: true } } }, grants);
  const { page, part, action, check } = await ambit.open("#/memory/user?key=lamp", { prepare });
  await part("value").waitFor({ state: "attached" });
  for (const name of ["new", "save", "remove", "discard", "show-owner"]) assert.equal(await action(name).count(), 0, name);
  assert.equal(await page.locator("textarea").count(), 0);
  check();
});

test("axe finds nothing in any look", async () => {
  await assertLooks(ambit, ["#/memory/user", "#/memory/team", "#/memory/user?key=lamp"], async (page, hash) => {
    const part = hash.includes("key=") ? "value" : "key-table";
    await page.locator(`[data-part="${part}"]:not([data-state="loading"])`).waitFor({ state: "attached" });
  });
});
