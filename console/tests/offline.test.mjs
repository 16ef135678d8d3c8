import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const ambit = useConsole("welcome");
const VIEWS = ["chats", "turns", "contexts", "memory", "usage", "agents", "data", "knowledge", "access", "system"];

/** The operations of the server's own description, as methods and patterns of paths. */
async function operations() {
  const { paths } = await (await fetch(new URL("/openapi.json", ambit.server.api))).json();
  return Object.entries(paths).flatMap(([path, methods]) => {
    const pattern = new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), pattern }));
  });
}

test("g185_all_views_work_offline_and_each_request_is_documented", async () => {
  const known = await operations();
  const asked = new Set();
  const prepare = (page) => page.on("request", (request) => asked.add(`${request.method()} ${new URL(request.url()).pathname}`));
  const { page, check } = await ambit.open("#/chats", { prepare });
  const look = async (path) => {
    await page.evaluate((hash) => (location.hash = hash), `#/${path}`);
    await page.locator(`main[data-view="${path.split("/")[0]}"] h1`).waitFor();
    await page.waitForFunction(() => document.querySelector("main [data-state]") && !document.querySelector('[data-state="loading"]'));
    assert.equal(await page.locator('[data-state="error"], [data-state="gone"]').count(), 0, path);
  };
  for (const view of VIEWS) await look(view);
  const turn = await say(ambit.server, "one", "Hello");
  const { items } = await (await fetch(`${ambit.server.api}/contexts?scope=chatHistory`)).json();
  for (const path of [`chats/${items[0].id}`, `turns/${turn.ambit.request_id}`, `contexts/${items[0].id}`, "agents/welcome"]) await look(path);
  const unknown = [...asked].filter((request) => {
    const [method, path] = request.split(" ");
    return !path.startsWith("/console/") && !known.some((one) => one.method === method && one.pattern.test(path));
  });
  assert.deepEqual(unknown, []);
  // `check` fails on every request to another origin; no name resolves but this machine's own.
  check();
});

/** In the page: keeps what is copied. */
function keepCopies() {
  window.copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void window.copied.push(text) } });
}

test("each view gives its request as a line of curl, which is documented and answered", async () => {
  const known = await operations();
  const { page, check } = await ambit.open("#/chats", { prepare: (page) => page.addInitScript(keepCopies) });
  for (const [at, view] of VIEWS.entries()) {
    await page.evaluate((hash) => (location.hash = hash), `#/${view}`);
    await page.locator(`main[data-view="${view}"] [data-action="copy-curl"]`).first().click();
    await settles(() => page.evaluate(() => window.copied.length), at + 1);
    const line = await page.evaluate(() => window.copied.at(-1));
    const [, method = "GET", address] = /^curl (?:-X (\w+) )?'([^']+)' -H 'authorization: Bearer KEY'/.exec(line) ?? assert.fail(line);
    const { pathname } = new URL(address);
    assert.ok(known.some((one) => one.method === method && one.pattern.test(pathname)), line);
    assert.equal((await fetch(address, { method })).status, 200, line);
  }
  check();
});
