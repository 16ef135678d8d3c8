import assert from "node:assert/strict";
import { test } from "node:test";
import { useConsole } from "./support/console.mjs";
import { HOSTILE_TEXTS, hostileElements, watchHostile } from "./support/hostile.mjs";
import { hostileAnswers } from "./support/hostile-answers.mjs";
import { openRecorded } from "./support/recorded.mjs";
import { settles } from "./support/wait.mjs";

/** Says each message that it is sent again, as a model's text, and all of them in every other place that an agent has. */
const PARROT = `
export function Create(ctx, messages) {
  const said = messages.map((message) => String(message.content));
  const all = said.join(" ");
  said.forEach((text) => ctx.Send({ type: "text", props: { content: text } }));
  if (all.length > 100_000) return null;
  const node = ctx.trace.Add({ [all]: all }, { label: all.slice(0, 200), type: "step" });
  node.Info(all, { [all]: said });
  node.Complete({ said });
  const space = ctx.trace.CreateSpace({ label: all.slice(0, 200) });
  said.forEach((text, at) => space.Set("k" + at, { [text]: text }));
  ctx.Send({ type: "thinking", props: { content: all } });
  ctx.Send({ type: "error", props: { message: all, code: all } });
  ctx.Send({ type: "image", props: { url: said[0], alt: all } });
  ctx.Send({ type: "retrieval", props: { query: all, sources: said.map((text) => ({ title: text, url: text, score: 1 })), total_results: 1 } });
  ctx.Send({ type: "action", props: { name: all, payload: { [all]: said } } });
  ctx.Send({ type: "tool_call", props: { id: "call_1", name: all, arguments: all, result: all } });
  ctx.Send({ type: "event", props: { event: all.slice(0, 100), message: all } });
  ctx.Send({ type: said[1].slice(0, 50), props: { url: said[0], html: all } });
  return null;
}`;
const FILES = { "assistants/parrot/package.yao": '{ "name": "Parrot" }', "assistants/parrot/src/index.js": PARROT };
/** Messages of one turn: the page shows the last 50 of a chat. */
const EACH = 20;
const groups = Array.from({ length: Math.ceil(HOSTILE_TEXTS.length / EACH) }, (_, at) => HOSTILE_TEXTS.slice(at * EACH, (at + 1) * EACH));

const send = async (server, method, path, body) => {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server.api}${path}`, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path} ${answer.status} ${answer.ok || (await answer.text())}`);
  return answer.status === 204 ? null : answer.json();
};
const read = async (path) => (await fetch(`${ambit.server.api}${path}`)).json();
/** A name of the length that names may have. */
const name = (texts) => texts.join(" ").slice(0, 60).replaceAll("\n", " ");

const ambit = useConsole("welcome", async (server) => {
  await send(server, "POST", "/kb/collections", { id: "hostile", name: name(groups[0]), description: name(groups[1]) });
  for (const texts of groups) {
    const messages = texts.map((content) => ({ role: "user", content }));
    const chat = name(texts);
    await send(server, "POST", "/chat/completions", { model: "parrot", chat_id: chat, messages });
    await send(server, "PUT", `/chat/sessions/${encodeURIComponent(chat)}?assistant_id=parrot`, { title: name([...texts].reverse()) });
    await send(server, "POST", "/kb/collections/hostile/documents/text", { name: `${name(texts)}.md`, text: texts.join("\n\n") });
  }
  for (const key of HOSTILE_TEXTS) await send(server, "PUT", `/memory/user/keys/${encodeURIComponent(key)}`, { value: { [key]: key } });
}, FILES);

/** Goes to an address, and looks at what became of it once all is shown. */
async function look({ page, happened }, hash) {
  await page.evaluate((next) => (location.hash = next), hash);
  await page.locator(`main[data-view="${/\w+/.exec(hash)[0]}"] h1`).waitFor();
  const isShown = () => document.querySelector("main [data-state]") && !document.querySelector('[data-state="loading"]');
  await page.waitForFunction(isShown).catch((cause) => assert.fail(`${hash} is not shown: ${cause.message}`));
  await assertHarmless({ page, happened }, hash);
}

async function assertHarmless({ page, happened }, where) {
  assert.deepEqual([happened, await page.evaluate(hostileElements)], [[], []], where);
}

/** Unfolds all that is folded. */
const unfold = (page) => page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));

async function openWatched(hash, open = ambit.open) {
  let happened;
  const prepare = async (page) => (happened = await watchHostile(page));
  const opened = await open(hash, { prepare });
  return { ...opened, happened };
}

test("g189_200_hostile_texts_run_and_load_nothing_as_messages_of_users_and_models", async () => {
  const opened = await openWatched("#/chats");
  const { page, check } = opened;
  const { data } = await read("/chat/sessions?pagesize=100&assistant_id=parrot");
  assert.deepEqual([HOSTILE_TEXTS.length >= 200, data.length], [true, groups.length]);
  for (const { context } of data) {
    await look(opened, `#/chats/${context}`);
    const { items } = await read(`/chat/sessions/-/messages?limit=100&context=${context}`);
    await settles(() => page.locator("[data-part=conversation] .message").evaluateAll((rows) => rows.map((row) => row.dataset.id)), items.slice(-50).map(({ id }) => id));
    await unfold(page);
    await assertHarmless(opened, context);
  }
  check();
});

test("g189_hostile_names_keys_values_traces_and_documents_are_text_in_each_view", async () => {
  const opened = await openWatched("#/chats");
  const { page, part, check } = opened;
  const { items: turns } = await read("/chat/requests?limit=1");
  const [{ request_id: turn, context }] = turns;
  const { data: nodes } = await read(`/trace/traces/${turn}/nodes?pagesize=100`);
  const tabs = [...nodes.map(({ id }) => `timeline&node=${id}`), "calls", "logs", "spaces", "memory", "events"];
  const { data: documents } = await read("/kb/collections/hostile/documents?pagesize=100");
  for (const hash of [
    "#/chats", `#/chats/${context}`, "#/turns", ...tabs.map((tab) => `#/turns/${turn}?tab=${tab}`), "#/contexts", `#/contexts/${context}`,
    `#/contexts/${context}?tab=related`, "#/memory/user", "#/usage?group_by=chat", "#/knowledge", "#/knowledge/hostile",
    ...documents.slice(0, 2).map(({ document_id }) => `#/knowledge/hostile?document=${document_id}`),
    `#/knowledge/hostile?tab=search&q=${encodeURIComponent("script ran img")}`, "#/agents", "#/access",
  ]) {
    await look(opened, hash);
    await unfold(page);
    await assertHarmless(opened, hash);
  }
  for (const key of HOSTILE_TEXTS.filter((_, at) => at % 20 === 0)) {
    await look(opened, `#/memory/user?key=${encodeURIComponent(key)}`);
    await part("value").waitFor({ state: "attached" });
  }
  // What is in the URL is a stranger's text too.
  for (const text of HOSTILE_TEXTS.filter((_, at) => at % 40 === 0).map(encodeURIComponent)) {
    for (const hash of [`#/chats?keywords=${text}`, `#/contexts/${text}`, `#/turns/${text}`, `#/memory/user/${text}`, `#/agents/${text}`]) await look(opened, hash);
  }
  // The browser writes a line for each 404 of those.
  await assertHarmless(opened, "at the end");
});

test("g189_hostile_settings_rows_labels_keys_rules_and_reports_are_text", async () => {
  const opened = await openWatched("#/agents", (hash, { prepare }) => openRecorded(ambit, hash, hostileAnswers(), { watch: prepare }));
  const { page } = opened;
  const explain = `#/access?tab=explain&who=${encodeURIComponent(HOSTILE_TEXTS[4])}&what=${encodeURIComponent(HOSTILE_TEXTS[5])}`;
  for (const hash of [
    "#/agents", ...["overview", "prompts", "hooks", "files", "tools"].map((tab) => `#/agents/welcome?tab=${tab}`), "#/contexts",
    "#/contexts/row0", "#/data", "#/data/m0", "#/access?tab=keys", "#/access?tab=rules", explain, ...["health", "problems", "metrics", "events"].map((tab) => `#/system?tab=${tab}`),
  ]) {
    await look(opened, hash);
    await unfold(page);
    await assertHarmless(opened, hash);
  }
});

/** Texts that a page may need long for, and how many elements it may make of each at most. */
const LARGE = {
  "a line of 1 MiB": "x".repeat((1 << 20) - 1000), "a line of words": "word ".repeat(60_000), quotes: "> ".repeat(100_000),
  lists: "- ".repeat(100_000), numbers: "1. ".repeat(60_000), emphasis: "_a_b".repeat(50_000), brackets: "[".repeat(100_000),
  "lists within lists": Array.from({ length: 400 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n"), elements: "<div><p>".repeat(30_000),
};

test("g189_lines_of_a_mebibyte_and_deep_lists_leave_the_page_answering", async () => {
  const messages = Object.values(LARGE).map((content) => ({ role: "user", content }));
  await send(ambit.server, "POST", "/chat/completions", { model: "parrot", chat_id: "large", messages });
  const { context } = (await read("/chat/sessions?pagesize=1")).data[0];
  const opened = await openWatched(`#/chats/${context}`);
  const { page, part, check } = opened;
  await part("conversation").waitFor({ state: "attached" });
  const { items } = await read(`/chat/sessions/-/messages?limit=100&context=${context}`);
  await settles(() => page.locator("[data-part=conversation] .message").count(), items.length);
  const texts = page.locator('[data-part=conversation] .message[data-type="text"]');
  await settles(() => texts.count(), messages.length);
  const names = Object.keys(LARGE);
  const made = await texts.evaluateAll((all) => all.map((message) => message.querySelectorAll("*").length));
  made.forEach((count, at) => assert.ok(count < 1000, `${names[at]}: ${count} elements`));
  await assertHarmless(opened, "large texts");
  await page.locator('textarea[name="message"]').fill("still there");
  check();
});
