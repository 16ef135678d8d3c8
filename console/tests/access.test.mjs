import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { assertText, HOSTILE, openRecorded } from "./support/recorded.mjs";
import { settles } from "./support/wait.mjs";

const ambit = useConsole("welcome");
const ALL = ["GET /keys", "GET /access/rules", "POST /access/explain"];

/** Keys as the server keeps them: a key is told once. */
function keyStore(keys = []) {
  return {
    keys,
    answers: {
      "GET /keys": () => ({ body: { items: keys } }),
      "POST /keys": ({ body }) => {
        if (body.roles?.includes("admin")) return { status: 403, body: { error: { code: "permission_denied", message: "the key could do more than its maker" } } };
        const made = { ...key(`key${keys.length + 1}`), ...body };
        keys.push(made);
        return { status: 201, body: { key: "ambit_secret_of_the_key", ...made } };
      },
      "DELETE /keys/*": ({ path }) => {
        keys.splice(keys.findIndex(({ id }) => id === path.split("/").at(-1)), 1);
        return { status: 204 };
      },
    },
  };
}

const key = (id) => ({
  id, label: null, user_id: null, team_id: null, roles: [], scope: null, created_at: 1764300000000, created_by: "dev", expires_at: null, last_used_at: null,
});

const RULES = {
  roles: [{ name: "user", scopes: ["*:*:default"], restricted: [], default: true, file: "built in" }],
  scopes: [{ name: HOSTILE, endpoints: ["GET /chat/sessions"], file: "openapi/scopes/chat.yml" }],
  aliases: [], public: [], endpoints: [{ endpoint: "GET /kb/* allow", effect: "allow", file: "openapi/scopes/scopes.yml" }], default: "deny",
};

test("the caller sees who they are and what they are granted", async () => {
  const { part, page, check } = await openRecorded(ambit, "#/access", {});
  await part("me").waitFor({ state: "attached" });
  await page.locator('[data-part="me"] li', { hasText: /^GET \/keys$/ }).waitFor();
  await settles(() => page.title(), "Access · Ambit");
  check();
});

test("what is not granted is not shown, and a line says so", async () => {
  const { page, part, action, check } = await openRecorded(ambit, "#/access?tab=keys", {}, { grants: ["GET /session"] });
  await part("me").waitFor({ state: "attached" });
  assert.equal(await page.locator('[role="tab"]').count(), 1);
  assert.equal(await action("new").count(), 0);
  const note = await page.locator('[data-note="not-granted"]').textContent();
  for (const operation of ALL) assert.ok(note.includes(operation), note);
  check();
});

test("a key is made, shown this once, and revoked", async () => {
  const store = keyStore();
  const { page, part, action, requests, check } = await openRecorded(ambit, "#/access?tab=keys", store.answers);
  await part("keys", "empty").waitFor();
  await action("new").click();
  await page.locator('dialog input[name="user_id"]').fill("ann");
  await page.locator('dialog input[name="roles"]').fill("user, reader");
  await action("make-key").click();
  await part("new-key").waitFor();
  assert.equal(await page.locator('input[name="key"]').inputValue(), "ambit_secret_of_the_key");
  const wish = requests.find(({ method }) => method === "POST").body;
  assert.deepEqual(wish, { user_id: "ann", roles: ["user", "reader"] });
  await page.keyboard.press("Escape");
  await page.locator('tr[data-id="key1"]').waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.body.outerHTML]));
  assert.ok(!kept.includes("ambit_secret_of_the_key"), "the key is kept nowhere");
  await action("revoke").click();
  await page.locator("dialog code", { hasText: "key1" }).waitFor();
  await action("confirm").click();
  await part("keys", "empty").waitFor();
  assert.equal(store.keys.length, 0);
  check();
});

test("a refused key keeps what was typed and says why", async () => {
  const { page, action } = await openRecorded(ambit, "#/access?tab=keys", keyStore().answers);
  await action("new").click();
  await page.locator('dialog input[name="roles"]').fill("admin");
  await action("make-key").click();
  await page.locator('dialog [role="alert"]', { hasText: "more than its maker" }).waitFor();
  assert.equal(await page.locator('dialog input[name="roles"]').inputValue(), "admin");
});

test("keys that may not be made or revoked have no such buttons", async () => {
  const { part, action, check } = await openRecorded(ambit, "#/access?tab=keys", keyStore([key("k1")]).answers, { grants: ["GET /keys"] });
  await part("keys").waitFor({ state: "attached" });
  assert.equal(await action("new").count(), 0);
  assert.equal(await action("revoke").count(), 0);
  check();
});

test("rules are shown with their files, and names of strangers are text", async () => {
  const { page, part, check } = await openRecorded(ambit, "#/access?tab=rules", { "GET /access/rules": RULES });
  await part("rules").waitFor({ state: "attached" });
  await assertText(page, "rules");
  await page.getByText("openapi/scopes/chat.yml").waitFor();
  check();
});

test("what is asked of the rules is in the URL, and asked again after a reload", async () => {
  const answers = {
    "POST /access/explain": ({ body }) => ({ body: { granted: body.who === "user", lines: [`${body.what} by ${body.who}`, HOSTILE] } }),
  };
  const { page, part, action, check } = await openRecorded(ambit, "#/access?tab=explain", answers);
  await part("explain", "empty").waitFor();
  await page.locator('input[name="who"]').fill("user");
  await page.locator('input[name="what"]').fill("GET /chat/sessions");
  await page.keyboard.press("Enter");
  await page.locator('[data-granted="true"]').waitFor();
  await page.reload();
  await page.locator("li", { hasText: "GET /chat/sessions by user" }).waitFor();
  await assertText(page, "explain");
  await page.locator('input[name="who"]').fill("nobody");
  await action("explain").click();
  await page.locator('[data-granted="false"]').waitFor();
  assert.match(page.url(), /who=nobody/);
  check();
});

test("tabs are moved along by keys alone", async () => {
  const { page, part, check } = await openRecorded(ambit, "#/access", { "GET /keys": { items: [] } });
  await part("me").waitFor({ state: "attached" });
  await page.locator('[data-tab="me"]').focus();
  await page.keyboard.press("ArrowRight");
  await part("keys", "empty").waitFor();
  assert.match(page.url(), /tab=keys$/);
  check();
});
