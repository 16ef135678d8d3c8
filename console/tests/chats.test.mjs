import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertAccessible } from "./support/axe.mjs";
import * as api from "./support/chats.mjs";
import { said, shownIds, write } from "./support/chats.mjs";
import { useConsole } from "./support/console.mjs";
import { cutStreams } from "./support/cut-streams.mjs";
import { startModel } from "./support/model.mjs";
import { granting } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

let streams;
const model = await startModel();
const ambit = useConsole("../console/tests/apps/chats", async (server) => {
  streams = await cutStreams(server);
}, model.files);
const guide = useConsole("knowledge");
after(() => (streams?.close(), model.close()));

const HOSTILE = `<script>document.title='run'</script><svg onload="document.title='run'"> [x](javascript:alert(1)) \u202Eevil`;
const read = (path) => api.read(ambit.server, path);
const contextOf = (chat, agent = "talker") => api.contextOf(ambit.server, chat, agent);
const stored = (context) => api.stored(ambit.server, context);
const assertStored = (page, context) => api.assertStored(ambit.server, page, context);

/** A chat with these messages said in it. */
async function chat(name, ...messages) {
  for (const message of messages) await say(ambit.server, name, message, "talker");
  return contextOf(name);
}

/** A chat with the agent whose slow answers wait for `model.release()`. */
async function slowChat(name) {
  await say(ambit.server, name, "Hello", "speaker");
  return contextOf(name, "speaker");
}

test("from the empty state to an answered question with a tool call", async () => {
  const { page, part, action, check } = await ambit.open("#/chats");
  await part("chat-list", "empty").waitFor();
  await action("new").click();
  await page.locator('select[name="agent"]').selectOption("talker");
  await part("conversation", "empty").getByText("What shall we talk about?").waitFor();
  await action("prompt").click();
  await page.waitForURL(/#\/chats\/(?!new)/);
  await page.locator('.tool[data-tool="fruit__search"]', { hasText: "done" }).waitFor();
  await said(page, "The tool says").waitFor();
  const context = decodeURIComponent(page.url().split("#/chats/")[1]);
  await assertStored(page, context);
  const types = (await stored(context)).map((row) => row.type);
  assert.deepEqual(types, ["user_input", "thinking", "tool_call", "text"]);
  await page.locator(`tr[data-id="${context}"]`).waitFor();
  await page.waitForFunction(() => document.querySelector("[data-announced]").textContent.includes("The tool says"));
  const result = page.locator(".tool details", { hasText: "Result" });
  await result.locator("summary").first().click();
  await result.getByText("oranges ripen in winter.").first().waitFor();
  check();
});

test("g193_pages_that_join_leave_reload_or_are_cut_off_end_with_the_stored_messages", async () => {
  const context = await slowChat("watched");
  const first = await ambit.open(`#/chats/${context}`);
  await first.part("conversation").waitFor({ state: "attached" });
  await write(first.page, "Speak slowly");
  await said(first.page, "one two three").waitFor();
  streams.cut(3);
  const second = await ambit.open(`#/chats/${context}`);
  const third = await ambit.open(`#/chats/${context}`);
  for (const { page } of [second, third]) await said(page, "one two three").waitFor();
  const leaving = await ambit.open(`#/chats/${context}`);
  await said(leaving.page, "one two three").waitFor();
  await leaving.context.close();
  await first.page.reload();
  await said(first.page, "one two three").waitFor();
  model.release();
  for (const { page } of [first, second, third]) {
    await said(page, "fourteen fifteen").waitFor();
    await assertStored(page, context);
  }
  assert.equal(streams.left, 0);
  first.check();
});

test("a page that is open follows a turn that somebody else starts", async () => {
  const context = await slowChat("followed");
  const { page, part, check } = await ambit.open(`#/chats/${context}`);
  await part("conversation").waitFor({ state: "attached" });
  await api.begin(ambit.server, "speaker", "followed", "Speak slowly");
  await said(page, "one two three").waitFor();
  await page.reload();
  await said(page, "one two three").waitFor();
  model.release();
  await said(page, "fourteen fifteen").waitFor();
  await assertStored(page, context);
  check();
});

test("stop ends the turn, and what was said is marked", async () => {
  const context = await slowChat("stopped");
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  await write(page, "Speak slowly");
  await said(page, "one two three").waitFor();
  await action("stop").click();
  await page.locator(".message .mark", { hasText: "stopped" }).waitFor();
  await assertStored(page, context);
  const last = (await stored(context)).at(-1);
  assert.equal(last.status, "partial");
  assert.doesNotMatch(last.props.content, /fifteen/);
  await write(page, "Speak slowly again");
  await page.locator('[data-part="running"]').waitFor();
  await settles(async () => (await stored(context)).at(-1).props.content, "Speak slowly again");
  await page.keyboard.press("Control+.");
  await assertStored(page, context);
  assert.equal((await read(`/chat/requests/${(await stored(context)).at(-1).request_id}`)).status, "cancelled");
  check();
});

test("an own message is edited, and what it replaces can be shown", async () => {
  const context = await chat("edited", "First", "Second");
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  await said(page, "You said: Second").waitFor();
  await page.locator('textarea[name="message"]').focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.locator('textarea[name="message"]').inputValue(), "Second");
  await page.keyboard.press("Escape");
  await action("edit").first().click();
  await page.getByText("puts aside 2 turns").waitFor();
  await write(page, "Third");
  await said(page, "You said: Third").waitFor();
  await assertStored(page, context);
  assert.deepEqual((await stored(context)).map((row) => row.props.content).slice(0, 1), ["Third"]);
  assert.equal((await stored(context)).length, 2);
  await action("show-replaced").click();
  await page.locator(".message.replaced", { hasText: "You said: Second" }).waitFor();
  assert.equal(await page.locator(".message.replaced").count(), 4);
  await action("show-replaced").click();
  await page.locator(".message.replaced").first().waitFor({ state: "detached" });
  check();
});

test("the last answer is given again", async () => {
  const context = await chat("again", "First", "Second");
  const before = await stored(context);
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  await said(page, "You said: Second").waitFor();
  assert.equal(await action("regenerate").count(), 1);
  await action("regenerate").click();
  await page.locator("dialog", { hasText: before.at(-1).request_id }).waitFor();
  await action("confirm").click();
  await page.waitForFunction((id) => !document.querySelector(`[data-id="${id}"]`), before.at(-1).id);
  await assertStored(page, context);
  const rows = await stored(context);
  assert.deepEqual(rows.slice(0, 3).map((row) => row.id), before.slice(0, 3).map((row) => row.id));
  assert.notEqual(rows.at(-1).id, before.at(-1).id);
  check();
});

test("while a turn runs a message is appended, one interrupts it, and one waits", async () => {
  const context = await slowChat("busy");
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  await write(page, "Speak slowly");
  await said(page, "one two three").waitFor();
  await write(page, "Appended");
  await page.locator('[data-waiting="appended"]').waitFor();
  await page.locator('textarea[name="message"]').fill("Queued");
  await action("queue").click();
  await page.locator('[data-waiting="queued"]').waitFor();
  await page.locator('textarea[name="message"]').fill("Interrupting");
  await action("interrupt").click();
  await said(page, "You said: Queued").waitFor();
  await assertStored(page, context);
  const inputs = (await stored(context)).filter((row) => row.role === "user").map((row) => row.props.content);
  assert.deepEqual(inputs, ["Hello", "Speak slowly", "Appended", "Interrupting", "Queued"]);
  check();
});

test("a message that comes too late is given back, and sent as a turn of its own", async () => {
  const context = await slowChat("late");
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  await write(page, "Speak slowly");
  await said(page, "one two three").waitFor();
  const error = { message: "too late", code: "too_late", type: "conflict_error" };
  await page.route(/\/chat\/completions\/[^/]+\/append$/, (route) => route.fulfill({ status: 409, json: { error } }), { times: 1 });
  await write(page, "And then?");
  await page.locator('[role="alert"]', { hasText: "it reads no more" }).waitFor();
  assert.equal(await page.locator('textarea[name="message"]').inputValue(), "And then?");
  await action("send-new").click();
  await page.locator('[data-waiting="queued"]').waitFor();
  model.release();
  await said(page, "You said: And then?").waitFor();
  await assertStored(page, context);
  check(/^console: Failed to load resource: .* status of 409/);
});

test("a refused message is given back, and a failed turn says why", async () => {
  const context = await chat("refused", "Hello");
  const { page, action } = await ambit.open(`#/chats/${context}`);
  await action("options").click();
  await page.locator('input[name="metadata"]').fill("{no");
  await write(page, "Kept");
  await page.locator('[role="alert"]', { hasText: "not a JSON object" }).waitFor();
  await page.locator('input[name="metadata"]').fill("");
  await page.route("**/chat/completions*", (route) => route.fulfill({ status: 409, json: { error: { message: "busy", code: "chat_busy", type: "conflict_error" } } }), { times: 1 });
  await page.locator('textarea[name="message"]').press("Enter");
  await page.locator('[role="alert"]', { hasText: "busy" }).waitFor();
  assert.equal(await page.locator('textarea[name="message"]').inputValue(), "Kept");
  await page.reload();
  await settles(() => page.locator('textarea[name="message"]').inputValue(), "Kept");
  await write(page, "Fail please");
  await page.locator(".turn .failure", { hasText: "I cannot" }).waitFor();
  await assertStored(page, context);
  assert.equal(await page.locator(".turn .failure").count(), 1);
});

test("a chat is renamed, archived and removed, and its information is right", async () => {
  const context = await chat("changed", "Hello");
  const { page, part, action, check } = await ambit.open(`#/chats/${context}`);
  await action("rename").click();
  await page.locator('input[name="title"]').fill("A new name");
  await action("save").click();
  await page.locator("h2", { hasText: "A new name" }).waitFor();
  await page.waitForFunction(() => document.title === "A new name · Chats · Ambit");
  await action("archive").click();
  await action("archive").getByText("Take out").waitFor();
  const row = () => read(`/chat/sessions/-?context=${context}`);
  await settles(async () => [(await row()).title, (await row()).status], ["A new name", "archived"]);
  await action("chat-info").click();
  await part("chat-info").getByText(context).waitFor();
  await part("chat-memory", "empty").waitFor();
  const download = page.waitForEvent("download");
  await action("export").click();
  const file = await (await download).createReadStream();
  const pieces = [];
  for await (const piece of file) pieces.push(piece);
  const saved = JSON.parse(Buffer.concat(pieces).toString());
  assert.deepEqual(saved.messages, await stored(context));
  await page.keyboard.press("Escape");
  // A read that is under way when it goes is answered 404, which the browser writes down.
  check();
  await action("remove").click();
  await action("confirm").click();
  await page.waitForURL(/#\/chats$/);
  await page.locator(`tr[data-id="${context}"]`).waitFor({ state: "detached" });
  assert.equal((await fetch(`${ambit.server.api}/chat/sessions/-?context=${context}`)).status, 404);
});

test("older messages come on scrolling, and a message of the URL is found", async () => {
  const context = await chat("long", ...Array.from({ length: 40 }, (_, at) => `Message ${at}`));
  const rows = await stored(context);
  const { page, check } = await ambit.open(`#/chats/${context}`);
  await said(page, "You said: Message 39").waitFor();
  await settles(async () => (await shownIds(page)).length, 50);
  const region = page.locator(".scroller[role=region]");
  await page.waitForFunction(() => {
    const frame = document.querySelector(".scroller[role=region]");
    return frame.scrollHeight - frame.scrollTop - frame.clientHeight < 48;
  });
  await region.evaluate((frame) => (frame.scrollTop = 0));
  await page.waitForFunction((count) => document.querySelectorAll("[data-part=conversation] .message").length === count, rows.length);
  await settles(async () => (await region.evaluate((frame) => frame.scrollTop)) > 0, true, "what one reads stays where it is");
  await settles(() => shownIds(page), rows.map((row) => row.id));
  await page.goto(`${ambit.origin}/console/?fresh#/chats/${context}?at=${encodeURIComponent(rows[1].id)}`);
  await page.locator(`.message.wanted[data-id="${rows[1].id}"]`).waitFor();
  check();
});

test("g195_filters_of_chats_are_in_the_url_and_lists_show_what_the_api_says", async () => {
  await chat("listed", "Hello");
  const { page, part, check } = await ambit.open("#/chats?assistant_id=talker&keywords=hello");
  await part("chat-list").waitFor({ state: "attached" });
  const ids = () => page.locator("tr[data-id]").evaluateAll((rows) => rows.map((row) => row.dataset.id));
  await settles(ids, async () => (await read("/chat/sessions?assistant_id=talker&keywords=hello&pagesize=50")).data.map((row) => row.context));
  await page.locator("tr[data-id] a").first().click();
  await part("conversation").waitFor({ state: "attached" });
  await page.waitForURL(/keywords=hello/);
  await page.goBack();
  await page.locator('[data-part="composer"]').waitFor({ state: "detached" });
  check();
});

test("g189_every_type_is_shown_nothing_hostile_runs_and_what_is_shown_is_what_is_stored", async () => {
  await say(ambit.server, "types", HOSTILE, "every-type");
  const context = await contextOf("types", "every-type");
  const { page, check } = await ambit.open(`#/chats/${context}`);
  const conversation = page.locator('[data-part="conversation"]');
  await conversation.locator('.message[data-type="text"] strong', { hasText: "Text" }).waitFor();
  await assertStored(page, context);
  const types = await conversation.locator(".message").evaluateAll((rows) => rows.map((row) => row.dataset.type.slice(0, 5)));
  assert.deepEqual(types.slice(0, 12), ["user_", "text", "think", "loadi", "error", "image", "image", "audio", "video", "retri", "actio", "chart"]);
  assert.equal(await conversation.locator("script, svg, [onload], iframe, audio, video").count(), 0);
  assert.deepEqual(await conversation.locator("img").evaluateAll((all) => all.map((img) => img.alt)), ["A pixel"]);
  const schemes = await conversation.locator(".body a[href]").evaluateAll((all) => [...new Set(all.map((link) => new URL(link.href).protocol))]);
  assert.deepEqual(schemes, ["https:"]);
  assert.match(await conversation.locator('[data-type="action"]').innerText(), /\\u202eevil/);
  await conversation.locator('.block', { hasText: "In a block, two" }).waitFor();
  await conversation.locator(".mark", { hasText: "changed" }).waitFor();
  await conversation.locator(".hljs-number").first().waitFor();
  const thread = conversation.locator(".thread");
  assert.equal(await thread.evaluate((lane) => lane.open), false);
  await thread.locator("summary").click();
  await thread.getByText("You may.").waitFor();
  await page.locator(`tr[data-id="${context}"]`).waitFor();
  assert.match(await page.locator(`tr[data-id="${context}"]`).innerText(), /<script>/);
  assert.doesNotMatch(await page.title(), /run$/);
  check();
});

test("g189_what_a_tool_got_and_gave_and_a_model_repeats_is_text", async () => {
  const context = await chat("tooled", "Find hostile fruit");
  const { page, check } = await ambit.open(`#/chats/${context}`);
  const conversation = page.locator('[data-part="conversation"]');
  await conversation.locator(".tool > details").nth(1).waitFor();
  for (const details of await conversation.locator(".tool > details").all()) {
    await details.locator("summary").first().click();
    await details.getByText("<img src=https://example.org/x").first().waitFor();
  }
  await said(page, "The tool says").waitFor();
  assert.equal(await conversation.locator("img, script, [onerror]").count(), 0);
  assert.doesNotMatch(await page.title(), /run/);
  check();
});

test("pictures are sent with the text, and a temporary chat leaves no row", async () => {
  const context = await chat("pictures", "Hello");
  const { page, action, check } = await ambit.open(`#/chats/${context}`);
  const buffer = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await page.locator('input[type="file"]').setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer });
  await write(page, "Look");
  await page.locator(".message.input img").waitFor();
  await assertStored(page, context);
  assert.equal((await stored(context)).at(-2).props.content[1].image_url.url, `data:image/png;base64,${buffer.toString("base64")}`);
  await action("new").click();
  await action("options").click();
  await page.locator('input[name="temporary"]').check();
  await write(page, "In secret");
  await said(page, "You said: In secret").waitFor();
  await page.locator('[data-part="running"]').waitFor({ state: "detached" });
  await write(page, "And more");
  await said(page, "You said: And more").waitFor();
  assert.equal((await read("/chat/sessions?pagesize=100")).data.some((row) => row.chat_id.startsWith("_temp")), false);
  check();
});

test("what a caller is not granted is not offered", async () => {
  const context = await chat("granted", "Hello");
  const grants = ambit.session.grants.filter((operation) => operation.startsWith("GET "));
  const { page, action, check } = await ambit.open(`#/chats/${context}`, { prepare: granting(ambit, grants) });
  await said(page, "You said: Hello").waitFor();
  for (const name of ["new", "rename", "archive", "share", "remove", "edit", "regenerate", "send", "stop"]) assert.equal(await action(name).count(), 0, name);
  check();
});

test("an id that is nobody's is gone", async () => {
  const { page, part, action } = await ambit.open("#/chats/nope");
  await part("conversation", "gone").waitFor();
  assert.equal(await page.locator('[data-part="composer"]').count(), 0);
  assert.equal(await action("remove").count(), 0);
});

test("a citation opens its reference", async () => {
  await say(guide.server, "asked", "What is jiff?", "guide");
  const row = await (await fetch(`${guide.server.api}/chat/sessions/asked?assistant_id=guide`)).json();
  const { page, part, action, check } = await guide.open(`#/chats/${row.context}`);
  await action("open-reference").click();
  await part("reference").getByText("Jiff", { exact: true }).first().waitFor();
  await page.keyboard.press("Escape");
  await part("reference").waitFor({ state: "detached" });
  check();
});

test("axe finds nothing, and nothing scrolls sideways", async () => {
  await say(ambit.server, "looks", "What is this?", "every-type");
  const context = await contextOf("looks", "every-type");
  const fruit = await chat("fruit", "Find oranges");
  for (const { theme, language, width } of [
    { theme: "light", language: "en", width: 1280 },
    { theme: "dark", language: "en", width: 1280 },
    { theme: "light", language: "zh-cn", width: 360 },
    { theme: "dark", language: "zh-cn", width: 360 },
  ]) {
    const { page, part, action, check } = await ambit.open("#/chats", { viewport: { width, height: 800 }, preferences: { theme, language } });
    const paths = {
      chats: `tr[data-id="${context}"]`, "chats/new": 'select[name="agent"]', [`chats/${context}`]: ".message >> text=What is this?", [`chats/${fruit}`]: ".message >> text=The tool says",
    };
    for (const [path, shown] of Object.entries(paths)) {
      await page.evaluate((hash) => (location.hash = hash), `#/${path}`);
      await page.locator(shown).first().waitFor();
      await page.waitForFunction(() => !document.querySelector('[data-state="loading"]'));
      if (path !== "chats") await page.locator('[data-action="options"]').click();
      await assertAccessible(page, `#/${path} ${theme} ${language} ${width}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `#/${path} scrolls sideways by ${overflow} px`);
    }
    await action("chat-info").click();
    await part("chat-info").waitFor();
    await assertAccessible(page, `chat-info ${theme} ${language} ${width}`);
    check();
    await ambit.closePages();
  }
});
