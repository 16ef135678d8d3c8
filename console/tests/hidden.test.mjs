import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { KEYS, makeKey } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

/** What Bob has said, kept and named; nobody else may see a byte of it. */
const SECRET = "the-cellar-of-bob";
const FILES = {
  ...KEYS, "assistants/open/package.yao": '{ "name": "Open", "public": true }', "openapi/roles.yml": 'writer: {scopes: ["*:*:default", "*:*:own"]}\n',
};
const keys = {};
const ids = { ann: {}, bob: {} };

const ambit = useConsole("welcome", async (server) => {
  for (const user of ["ann", "bob"]) {
    keys[user] = await makeKey(server, user, user === "bob" ? "writer" : "user");
    const text = user === "bob" ? SECRET : "the garden of ann";
    const ask = (...request) => send(server, user, ...request);
    const turn = await ask("POST", "/chat/completions", { model: "open", chat_id: `chat ${text}`, messages: [{ role: "user", content: text }] });
    await ask("PUT", "/memory/user/keys/place", { value: text });
    const { context } = (await ask("GET", "/chat/sessions")).data[0];
    ids[user] = { request_id: turn.ambit.request_id, context, chat: `chat ${text}`, user };
  }
  await send(server, "bob", "POST", "/kb/collections", { id: "cellar", name: SECRET });
  const document = await send(server, "bob", "POST", "/kb/collections/cellar/documents/text", { text: SECRET, name: "place.md" });
  Object.assign(ids.bob, { collection: "cellar", document: document.doc_id });
}, FILES);

async function send(server, user, method, path, body) {
  const headers = { authorization: `Bearer ${keys[user]}`, "content-type": "application/json" };
  const answer = await fetch(`${server.api}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  assert.ok(answer.ok, `${method} ${path} ${answer.status} ${answer.ok || (await answer.text())}`);
  return answer.status === 204 ? null : answer.json();
}

const as = (user) => ({ extraHTTPHeaders: { authorization: `Bearer ${keys[user]}` } });
const asAnn = () => as("ann");

/** The addresses in the console of what somebody has. */
const addresses = ({ request_id, context, collection, document, user }) => [
  `#/chats/${context}`, `#/turns/${request_id}`, `#/contexts/${context}`, `#/contexts/${context}?tab=related`, `#/memory/chat?context=${context}`,
  `#/memory/user/${user}`, ...(collection ? [`#/knowledge/${collection}`, `#/knowledge/${collection}?document=${document}`] : []),
  ...["timeline", "calls", "logs", "spaces", "memory", "events"].map((tab) => `#/turns/${request_id}?tab=${tab}`),
];
const LISTS = ["#/chats", "#/turns", "#/contexts", "#/memory/user", "#/usage", "#/agents", "#/knowledge", "#/access"];

async function look(page, hash) {
  await page.evaluate((next) => (location.hash = next), hash);
  await page.locator(`main[data-view="${/\w+/.exec(hash)[0]}"] h1`).waitFor();
  const isShown = () => document.querySelector("main [data-state], main [data-note]") && !document.querySelector('[data-state="loading"]');
  await page.waitForFunction(isShown).catch((cause) => assert.fail(`${hash} is not shown: ${cause.message}`));
}

test("g186_what_is_somebody_elses_is_in_no_view_and_by_its_id_as_what_is_nobodys", async () => {
  const { page } = await ambit.open("#/chats", asAnn());
  for (const hash of [...LISTS, ...addresses(ids.bob)]) {
    await look(page, hash);
    assert.ok(!(await page.locator("main").innerText()).includes(SECRET), hash);
    if (LISTS.includes(hash)) continue;
    const states = await page.locator("main [data-state]").evaluateAll((parts) => parts.map((part) => [part.dataset.part, part.dataset.state]));
    const isRefused = states.some(([, state]) => ["gone", "denied", "error", "empty"].includes(state));
    assert.ok(isRefused, `${hash} ${JSON.stringify(states)}`);
  }
});

test("g186_an_id_of_somebody_else_is_answered_as_one_that_nobody_has", async () => {
  const session = await send(ambit.server, "ann", "GET", "/session");
  const ask = async (method, path) => {
    const headers = { authorization: `Bearer ${keys.ann}`, "content-type": "application/json" };
    const answer = await fetch(`${ambit.server.api}${path}`, { method, headers, ...(method !== "GET" && { body: "{}" }) });
    return [answer.status, (await answer.text()).replaceAll(/"request_id":"[^"]*"/g, "")];
  };
  const { bob } = ids;
  const places = {
    ":request_id": bob.request_id, ":trace_id": bob.request_id, ":context_id": bob.context, ":chat_id": bob.chat, ":collection_id": bob.collection,
    ":document_id": bob.document, "/contexts/:id": bob.context, "/calls/:id": `${bob.request_id}.call-0`,
  };
  let asked = 0;
  for (const operation of session.grants) {
    const [method, path] = operation.split(" ");
    const found = Object.keys(places).find((place) => path.includes(place));
    if (!found) continue;
    const filled = (id) => path.replace(found, found.replace(/:\w+$/, encodeURIComponent(id))).replaceAll(/[:*]\w+/g, "0");
    const unknown = [...places[found]].reverse().join("");
    const [own, nobodys] = [await ask(method, filled(places[found])), await ask(method, filled(unknown))];
    const spelled = (text, id) => text.replaceAll(JSON.stringify(id).slice(1, -1), "ID");
    assert.deepEqual([own[0], spelled(own[1], places[found])], [nobodys[0], spelled(nobodys[1], unknown)], operation);
    assert.ok(!own[1].includes(SECRET) || found === ":chat_id", operation);
    asked += 1;
  }
  assert.ok(asked > 20, `${asked} operations have an id`);
});

/** Actions that change something, by their view; and those that the role `user` has not. */
const WRITES = {
  chats: ["new", "send", "rename", "archive", "remove", "edit", "regenerate"], contexts: ["clear", "remove"], memory: ["new", "save", "remove"],
};
const OF_OTHERS = { knowledge: ["new", "upload", "add-text", "add-url", "reindex", "remove-collection"], access: ["new", "revoke", "explain"] };

/** The actions of the views over what is Ann's, by view. */
async function actions(page) {
  const found = {};
  const { context } = ids.ann;
  for (const hash of ["#/chats", `#/chats/${context}`, "#/contexts", `#/contexts/${context}`, "#/memory/user?key=place", "#/knowledge", "#/access"]) {
    await look(page, hash);
    const names = await page.locator("main [data-action]").evaluateAll((all) => all.map((element) => element.dataset.action));
    const view = /\w+/.exec(hash)[0];
    found[view] = [...new Set([...(found[view] ?? []), ...names])];
  }
  return found;
}

test("g186_without_the_right_to_change_no_view_has_an_action_that_changes", async () => {
  const may = await ambit.open("#/chats", asAnn());
  const offered = await actions(may.page);
  const session = await send(ambit.server, "ann", "GET", "/session");
  const grants = session.grants.filter((operation) => operation.startsWith("GET "));
  const prepare = (page) => page.route("**/v1/session", (route) => route.fulfill({ json: { ...session, grants } }));
  const mayNot = await ambit.open("#/chats", { ...asAnn(), prepare });
  const left = await actions(mayNot.page);
  for (const [view, names] of Object.entries(WRITES)) {
    assert.deepEqual(names.filter((name) => !offered[view].includes(name)), [], `${view} offers them`);
    assert.deepEqual(names.filter((name) => left[view].includes(name)), [], `${view} offers none of them`);
  }
  for (const [view, names] of Object.entries(OF_OTHERS)) assert.deepEqual(names.filter((name) => offered[view].includes(name)), [], view);
  mayNot.check();
});

test("a chat that is shared is listed to the team, and no more once it is not", async () => {
  for (const user of ["cy", "dee"]) keys[user] = await makeKey(ambit.server, user, "user", "shop");
  await send(ambit.server, "cy", "POST", "/chat/completions", { model: "open", chat_id: "plans", messages: [{ role: "user", content: "Hello" }] });
  const chats = async (user) => (await send(ambit.server, user, "GET", "/chat/sessions")).data.map(({ context }) => context);
  const [context] = await chats("cy");
  assert.deepEqual(await chats("dee"), []);
  const { page, check } = await ambit.open(`#/chats/${context}`, as("cy"));
  const share = (hasText) => page.locator('[data-action="share"]', { hasText });
  await share("Share with the team").click();
  await share("Stop sharing").waitFor();
  assert.deepEqual(await chats("dee"), [context]);
  await page.locator(`tr[data-id="${context}"] [data-column="marks"]`, { hasText: "shared" }).waitFor();
  const other = await ambit.open("#/chats", as("dee"));
  await other.page.locator(`tr[data-id="${context}"] a`).click();
  await other.part("conversation").getByText("Hello").first().waitFor();
  await share("Stop sharing").click();
  await share("Share with the team").waitFor();
  await settles(() => chats("dee"), []);
  check();
});
