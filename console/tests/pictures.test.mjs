// Pictures, sounds and films of other hosts: nothing is asked for before a click, and of hosts that the app does not name never.

import assert from "node:assert/strict";
import http from "node:http";
import { after, test } from "node:test";
import { assertAccessible } from "./support/axe.mjs";
import { useConsole } from "./support/console.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

/** A host of pictures, which notes what it is asked for and from where. */
async function startHost() {
  const asked = [];
  const server = http.createServer(({ url, headers }, answer) => {
    asked.push({ url, referer: headers.referer });
    if (!url.endsWith(".png")) return answer.writeHead(404).end();
    answer.writeHead(200, { "content-type": "image/png" }).end(PIXEL);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${server.address().port}`;
  return { host, origin: `http://${host}`, asked, close: () => (server.closeAllConnections(), server.close()) };
}

const SENDER = `export function Create(ctx, messages) {
  for (const message of JSON.parse(messages[messages.length - 1].content)) ctx.Send(message);
  return null;
}`;

const [named, other] = [await startHost(), await startHost()];
const ambit = useConsole("../console/tests/apps/chats", async () => {}, {
  "app.yao": JSON.stringify({ name: "Pictures", version: "1.0.0", ambit: { console: { images: [named.origin] } } }),
  "assistants/speaker/package.yao": JSON.stringify({ name: "Speaker", connector: "scripted" }),
  "assistants/sender/package.yao": JSON.stringify({ name: "Sender" }),
  "assistants/sender/src/index.js": SENDER,
});
after(() => (named.close(), other.close()));

/** Opens a chat in which these messages are sent. */
async function openSent(chat, messages) {
  await say(ambit.server, chat, JSON.stringify(messages), "sender");
  const { context } = await (await fetch(`${ambit.server.api}/chat/sessions/${chat}?assistant_id=sender`)).json();
  const opened = await ambit.open(`#/chats/${context}`);
  const message = (type) => opened.page.locator(`[data-part="conversation"] .message[data-type="${type}"]`);
  return { ...opened, message };
}

test("g189_media_of_a_named_host_are_asked_for_after_a_click_on_a_placeholder_that_names_it", async () => {
  const { page, message, check } = await openSent("named", [
    { type: "text", props: { content: `Look: ![In a text](${named.origin}/text.png)` } },
    { type: "image", props: { url: `${named.origin}/image.png`, alt: "A picture" } },
    { type: "audio", props: { url: `${named.origin}/sound.ogg`, alt: "A sound" } },
    { type: "video", props: { url: `${named.origin}/film.mp4`, alt: "A film" } },
  ]);
  for (const [type, alt] of [["text", "In a text"], ["image", "A picture"], ["audio", "A sound"], ["video", "A film"]]) {
    await message(type).locator('[data-action="show-media"]', { hasText: named.host }).waitFor();
    await message(type).getByRole("link", { name: alt }).waitFor();
  }
  assert.equal(await page.locator('[data-part="conversation"]').locator("img, audio, video").count(), 0);
  await assertAccessible(page, "placeholders");
  check();
  assert.deepEqual(named.asked, []);

  for (const type of ["text", "image"]) {
    await message(type).locator('[data-action="show-media"]').click();
    await settles(() => message(type).locator("img").evaluate((picture) => picture.naturalWidth), 1);
    assert.deepEqual(named.asked.splice(0), [{ url: `/${type}.png`, referer: undefined }]);
  }
  for (const [type, path] of [["audio", "/sound.ogg"], ["video", "/film.mp4"]]) {
    await message(type).locator('[data-action="show-media"]').click();
    await message(type).getByRole("status").waitFor();
    assert.deepEqual([...new Set(named.asked.splice(0).map(({ url }) => url))], [path]);
  }
  await page.reload();
  await message("image").locator('[data-action="show-media"]').waitFor();
  assert.deepEqual(named.asked, []);
});

test("g189_media_of_other_hosts_are_links_and_those_of_a_message_itself_are_shown", async () => {
  const { page, message, check } = await openSent("other", [
    { type: "text", props: { content: `![Far](${other.origin}/far.png) ![Near](data:image/png;base64,${PIXEL.toString("base64")})` } },
    { type: "image", props: { url: `http://${named.host}@${other.host}/image.png`, alt: "In disguise" } },
    { type: "video", props: { url: `${other.origin}/film.mp4`, alt: "A film" } },
  ]);
  await message("text").getByRole("link", { name: "Far" }).waitFor();
  await message("image").getByRole("link", { name: "In disguise" }).waitFor();
  await message("video").getByRole("link", { name: "A film" }).waitFor();
  await settles(() => message("text").locator("img").evaluateAll((all) => all.map(({ alt, naturalWidth }) => [alt, naturalWidth])), [["Near", 1]]);
  assert.equal(await page.locator('[data-action="show-media"], audio, video').count(), 0);
  check();
  assert.deepEqual([...named.asked, ...other.asked], []);
});

test("what somebody sends is judged as what an agent sends", async () => {
  const parts = [{ type: "image_url", image_url: { url: `${named.origin}/sent.png` } }, { type: "text", text: `Hello ![Back](${named.origin}/back.png)` }];
  await say(ambit.server, "sent", parts, "talker");
  const { context } = await (await fetch(`${ambit.server.api}/chat/sessions/sent?assistant_id=talker`)).json();
  const { page, check } = await ambit.open(`#/chats/${context}`);
  const sent = page.locator(".message.input");
  await sent.locator('[data-action="show-media"]').waitFor();
  check();
  assert.deepEqual(named.asked, []);
  await sent.locator('[data-action="show-media"]').click();
  await settles(() => sent.locator("img").evaluate((picture) => picture.naturalWidth), 1);
  assert.deepEqual(named.asked.splice(0).map(({ url }) => url), ["/sent.png"]);
});
