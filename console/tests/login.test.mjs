import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { openRecorded } from "./support/recorded.mjs";
import { KEYS, makeKey, say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const keys = {};
const ambit = useConsole("welcome", async (server) => {
  keys.user = await makeKey(server, "ann", "user");
  keys.admin = await makeKey(server, "root", "admin");
}, KEYS);
const open = useConsole("welcome", (server) => say(server, "one", "Hello"));

const VIEWS = {
  chats: "GET /chat/sessions", turns: "GET /chat/requests", contexts: "GET /contexts", memory: "GET /memory/:space", usage: "GET /usage",
  agents: "GET /agent/assistants", data: "GET /data/models", knowledge: "GET /kb/collections", access: "GET /session", system: "GET /system",
};
const views = (page) => page.locator('nav a[href^="#/"]').evaluateAll((links) => links.map((link) => link.hash.slice(2)));

async function logIn(page, secret) {
  await page.locator('main[data-view="login"] input[name="secret"]').fill(secret);
  await page.locator('[data-action="log-in"]').click();
}

/** What a route says to the page's own caller. */
const ask = (page, path, method = "GET") =>
  page.evaluate(async ([path, method]) => {
    const headers = { "X-Ambit-Console": "1", "Content-Type": "application/json" };
    const answer = await fetch(`../v1${path}`, { method, headers, ...(method === "GET" ? {} : { body: "{}" }) });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  }, [path, method]);

test("a key opens a session at the wanted address, is kept nowhere, and logging out ends it", async () => {
  // The browser itself writes a line for each 401, so the page is not checked.
  const { page, context, part, action } = await ambit.open("#/contexts?scope=usage");
  await logIn(page, "ambit_wrong");
  await page.locator('main[data-view="login"] [role="alert"]').waitFor();
  await logIn(page, keys.user);
  await part("context-table", "empty").waitFor();
  assert.match(page.url(), /#\/contexts\?scope=usage$/);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.cookie, document.body.outerHTML]));
  assert.ok(!kept.includes(keys.user));
  const [cookie, ...others] = await context.cookies();
  assert.deepEqual([others, cookie.httpOnly, cookie.sameSite, cookie.value.includes(keys.user)], [[], true, "Strict", false]);
  await page.reload();
  await part("context-table", "empty").waitFor();
  assert.equal((await ask(page, "/session")).body.mode, "session");
  await action("identity").click();
  await page.locator('input[name="letters"]').uncheck();
  const error = { code: "unavailable", message: "the store is away" };
  await page.route("**/v1/session", (route) => route.fulfill({ status: 503, json: { error } }), { times: 1 });
  await action("log-out").click();
  await page.locator('dialog [role="alert"]', { hasText: error.message }).waitFor();
  await action("log-out").click();
  await page.locator('main[data-view="login"]').waitFor();
  assert.equal((await ask(page, "/contexts")).status, 401);
  assert.deepEqual(await page.evaluate(() => [{ ...localStorage }, { ...sessionStorage }]), [{}, {}]);
});

test("the views of each role are those that are granted, and what is hidden is refused", async () => {
  for (const role of ["user", "admin"]) {
    const { page, part } = await ambit.open("#/access");
    await logIn(page, keys[role]);
    await part("me").waitFor({ state: "attached" });
    const { grants } = (await ask(page, "/session")).body;
    const granted = Object.keys(VIEWS).filter((view) => view === "access" || grants.includes(VIEWS[view]));
    await settles(async () => (await views(page)).sort(), granted.sort());
    assert.equal(grants.includes("GET /keys"), role === "admin");
    await settles(() => page.locator('[data-tab="keys"]').count(), role === "admin" ? 1 : 0);
    const document = await (await fetch(new URL("/openapi.json", ambit.server.api), { headers: { authorization: `Bearer ${keys.admin}` } })).json();
    for (const [path, methods] of Object.entries(document.paths)) {
      // The app is no tool server.
      if (!path.startsWith("/v1/") || path === "/v1/mcp") continue;
      const below = path.slice("/v1".length);
      for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
        const operation = `${method} ${below.replaceAll(/\{(\w+)\}/g, ":$1")}`;
        // The document knows no last part with slashes, which is `*` in grants.
        if (grants.includes(operation) || grants.includes(operation.replace(/:path$/, "*"))) continue;
        const { status } = await ask(page, below.replaceAll(/\{\w+\}/g, "x"), method);
        assert.equal(status, 403, `${role}: ${method} ${below}`);
      }
    }
    await ambit.closePages();
  }
});

test("a session of a key that is revoked is over at the next request", async () => {
  const secret = await makeKey(ambit.server, "bob", "user");
  const { page, part } = await ambit.open("#/contexts");
  await logIn(page, secret);
  await part("context-table", "empty").waitFor();
  const admin = { authorization: `Bearer ${keys.admin}` };
  const { items } = await (await fetch(`${ambit.server.api}/keys`, { headers: admin })).json();
  const { id } = items.find((key) => key.user_id === "bob");
  assert.equal((await fetch(`${ambit.server.api}/keys/${id}`, { method: "DELETE", headers: admin })).status, 204);
  await page.locator('input[name="chat"]').fill("two");
  await page.locator('main[data-view="login"]').waitFor();
});

test("whom one acts as is said in every view, and ends at a click", async () => {
  const { page, part, action, check } = await open.open("#/access");
  await action("identity").click();
  await action("act-as").click();
  await page.locator('dialog input[name="user_id"]').fill("ann");
  await page.locator('dialog input[name="roles"]').fill("user");
  await action("start-acting").click();
  const bar = page.locator('[data-part="acting"]');
  await bar.filter({ hasText: "ann" }).waitFor();
  await page.locator('[data-tab="keys"]').waitFor({ state: "detached" });
  await page.evaluate(() => (location.hash = "#/contexts"));
  await part("context-table", "empty").waitFor();
  await page.reload();
  await bar.filter({ hasText: "ann" }).waitFor();
  await part("context-table", "empty").waitFor();
  await action("stop-acting").click();
  await bar.waitFor({ state: "detached" });
  await page.locator("tr[data-id]").first().waitFor();
  check();
});

test("a key that is made in the page opens the API until it is revoked there", async () => {
  const { page, part, action } = await ambit.open("#/access?tab=keys");
  await logIn(page, keys.admin);
  await part("keys").waitFor({ state: "attached" });
  await action("new").click();
  await page.locator('dialog input[name="user_id"]').fill("cy");
  await page.locator('dialog input[name="roles"]').fill("user");
  await action("make-key").click();
  await part("new-key").waitFor();
  const key = await page.locator('input[name="key"]').inputValue();
  const status = async () => (await fetch(`${ambit.server.api}/session`, { headers: { authorization: `Bearer ${key}` } })).status;
  assert.equal(await status(), 200);
  await page.keyboard.press("Escape");
  const row = page.locator("main tr[data-id]", { has: page.locator('td[data-column="user_id"]', { hasText: /^\s*cy\s*$/ }) });
  await row.locator('[data-action="revoke"]').click();
  await action("confirm").click();
  await row.waitFor({ state: "detached" });
  assert.equal(await status(), 401);
});

test("a login elsewhere is a link, unless it is none that one may follow", async () => {
  const refusal = (login_url) => ({ "GET /session": () => ({ status: 401, body: { error: { code: "unauthenticated", message: "who?", details: { login_url } } } }) });
  const { page, action, check } = await openRecorded(open, "#/chats", refusal("https://login.example.org/start"));
  await action("log-in-elsewhere").waitFor();
  assert.equal(await action("log-in-elsewhere").getAttribute("href"), "https://login.example.org/start");
  assert.equal(await page.locator('input[name="secret"]').count(), 0);
  check(/^console: Failed to load resource: .* status of 401/);
  const other = await openRecorded(open, "#/chats", refusal("javascript:document.title='run'"));
  await other.page.locator('main[data-view="login"] p').first().waitFor();
  assert.equal(await other.action("log-in-elsewhere").count(), 0);
});

test("theme, language and single letters are chosen in the page, and stay", async () => {
  const { page, action, check } = await open.open("#/contexts");
  const looks = () => page.evaluate(() => [document.documentElement.dataset.theme, document.documentElement.lang]);
  await action("identity").click();
  await page.locator('select[name="theme"]').selectOption("dark");
  await page.locator('select[name="language"]').selectOption("zh-cn");
  await page.locator('input[name="letters"]').uncheck();
  await settles(looks, ["dark", "zh-cn"]);
  await page.reload();
  await page.locator('main[data-view="contexts"] h1').waitFor();
  await settles(looks, ["dark", "zh-cn"]);
  await page.keyboard.press("?");
  await page.keyboard.press("Control+k");
  await page.locator('[data-part="palette"]').waitFor();
  assert.equal(await page.locator('[data-part="help"]').count(), 0);
  check();
});

test("g196_the_head_of_a_turn_says_who_acted_as_its_caller", async () => {
  const post = (path, body, headers = {}) =>
    fetch(`${open.server.api}${path}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  const { token } = await (await post("/session/act-as", { user_id: "ann" })).json();
  const acting = { "x-ambit-act-as": token };
  const turn = { model: "welcome", chat_id: "for ann", stream: false, messages: [{ role: "user", content: "Hello" }] };
  const answer = await post("/chat/completions", turn, acting);
  assert.equal(answer.status, 200, await answer.text());
  const id = answer.headers.get("x-ambit-request");
  const { page, part, check } = await open.open(`#/turns/${id}`, { extraHTTPHeaders: acting });
  await part("turn-head").waitFor({ state: "attached" });
  await page.locator('[data-part="acting"]', { hasText: "ann" }).waitFor();
  const facts = () => page.locator('[data-part="turn-head"] dl > div').evaluateAll((all) => all.map((one) => one.innerText.split("\n")));
  await settles(async () => (await facts()).filter(([name]) => ["User", "Acted by"].includes(name)), [["User", "ann"], ["Acted by", "dev"]]);
  check();
});
