import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { useConsole } from "./support/console.mjs";
import { hostileAnswers } from "./support/hostile-answers.mjs";
import { openRecorded } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const made = {};
const ambit = useConsole("welcome", async (server) => {
  for (const chat of ["one", "two"]) made.turn = (await say(server, chat, "Hello")).ambit.request_id;
  const { items } = await (await fetch(`${server.api}/contexts?scope=chatHistory`)).json();
  made.context = items[0].id;
  const send = (method, path, body) =>
    fetch(`${server.api}${path}`, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  for (const key of ["place", "plant", "name"]) await send("PUT", `/memory/user/keys/${key}`, { value: "garden" });
  await send("POST", "/kb/collections", { id: "shop" });
  made.document = (await (await send("POST", "/kb/collections/shop/documents/text", { text: "Lamps", name: "lamps.md" })).json()).doc_id;
});

/** An address of each view, with filters, a tab or what is open. */
const ADDRESSES = () => [
  "#/chats?status=active&order_by=created_at", `#/chats/${made.context}`, "#/turns?chat_id=two&status=completed", `#/turns/${made.turn}?tab=logs`,
  "#/contexts?scope=chatHistory&order=newest", `#/contexts/${made.context}?tab=related`, "#/memory/user?pattern=pla*&key=place", "#/usage?group_by=model",
  "#/agents?keywords=welcome", "#/agents/welcome?tab=tools", "#/data", "#/data/m0", `#/knowledge/shop?document=${made.document}`,
  "#/knowledge/shop?tab=search&q=lamps", "#/access?tab=keys", "#/access?tab=explain&who=user&what=GET%20%2Fkeys", "#/system?tab=problems", "#/system",
];

/** In the page: the address, what is open, and the rows and fields that are shown; null while something is read. */
function shown() {
  if (!document.querySelector("main [data-state]") || document.querySelector('[data-state="loading"]')) return null;
  const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
  return {
    address: location.hash,
    title: document.title,
    parts: all("main [data-part]", (part) => `${part.dataset.part} ${part.dataset.state}`),
    tabs: all('[role="tab"][aria-selected="true"]', (tab) => tab.dataset.tab),
    rows: all("main tr[data-id], main li[data-id]", (row) => row.dataset.id),
    fields: all("main input, main select, main textarea", (field) => `${field.name} ${field.type === "checkbox" ? field.checked : field.value}`),
  };
}

test("g195_each_view_is_the_same_after_a_reload_on_the_way_back_and_in_another_browser", async () => {
  const { "GET /events": _, ...answers } = hostileAnswers();
  const first = await openRecorded(ambit, "#/nowhere", answers);
  const other = await openRecorded(ambit, "#/nowhere", answers);
  const leave = async (page) => {
    await page.evaluate(() => (location.hash = "#/nowhere"));
    await page.locator('main[data-view="not-found"]').waitFor();
  };
  // By way of what is no view, so that nothing of the last one is taken for this one's.
  const go = async (page, hash) => {
    await leave(page);
    await page.evaluate((next) => (location.hash = next), hash);
  };
  for (const address of ADDRESSES()) {
    await go(first.page, address);
    let seen = null;
    // What is the same twice comes to rest.
    const rests = async () => {
      const before = seen;
      seen = await first.page.evaluate(shown);
      return seen !== null && isDeepStrictEqual(seen, before) && seen.address;
    };
    await settles(rests, address, `${address} is shown and kept`);
    const same = (page, how) => settles(() => page.evaluate(shown), async () => seen, `${address} ${how}`);
    await first.page.reload();
    await same(first.page, "after a reload");
    await leave(first.page);
    await first.page.goBack();
    await same(first.page, "on the way back");
    await go(other.page, address);
    await same(other.page, "in another browser");
  }
  for (const { check } of [first, other]) check();
});
