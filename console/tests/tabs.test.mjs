import assert from "node:assert/strict";
import { after, test } from "node:test";
import { begin, contextOf, read, said, shownIds, stored } from "./support/chats.mjs";
import { useConsole } from "./support/console.mjs";
import { startModel } from "./support/model.mjs";
import { openRecorded } from "./support/recorded.mjs";
import { say } from "./support/server.mjs";
import { settles } from "./support/wait.mjs";

const model = await startModel();
const ambit = useConsole("../console/tests/apps/chats", undefined, model.files);
after(() => model.close());

const TABS = 8;
const ids = (rows) => rows.map(({ id }) => id);

/** In the page, before anything is loaded: lets a case hide the tab, and shortens the time after which that counts. */
function addHiding() {
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  Object.defineProperty(document, "visibilityState", { get: () => (isHidden ? "hidden" : "visible") });
  window.hide = (hidden) => {
    isHidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const later = window.setTimeout;
  window.setTimeout = (act, pause, ...rest) => later(act, pause === 5000 ? 50 : pause, ...rest);
}

/** The streams that a page holds. */
function countStreams(page) {
  const open = new Set();
  const isStream = (request) => /\/requests\/[^/]+\/stream(\?|$)/.test(request.url());
  page.on("request", (request) => isStream(request) && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  return open;
}

test("eight_tabs_on_running_turns_all_go_on_and_hidden_ones_hold_no_stream", async () => {
  const { context: browser, page: first, check } = await ambit.open("#/nowhere");
  await first.locator("main h1").waitFor();
  const tabs = [];
  for (let number = 0; number < TABS; number += 1) {
    const chat = `tab ${number}`;
    await say(ambit.server, chat, "Hello", "speaker");
    const context = await contextOf(ambit.server, chat, "speaker");
    await begin(ambit.server, "speaker", chat, "Speak slowly");
    const page = await browser.newPage();
    const streams = countStreams(page);
    await page.addInitScript(addHiding);
    await page.goto(`${ambit.origin}/console/#/chats/${context}`);
    await said(page, "one two three").waitFor();
    assert.equal(streams.size, 1, "a tab that is seen holds the stream of its turn");
    await page.evaluate(() => window.hide(true));
    await settles(() => streams.size, 0, "a tab that is hidden holds none");
    tabs.push({ page, context, streams });
  }
  model.release();
  for (const { page, context, streams } of tabs) {
    await page.evaluate(() => window.hide(false));
    await said(page, "fourteen fifteen").waitFor();
    await settles(() => shownIds(page), async () => ids(await stored(ambit.server, context)));
    await settles(() => streams.size, 0, "a turn that has ended needs no stream");
  }
  check();
});

const AT = 1764300000000;
/** Twenty minutes, with ten words a second. */
const LASTS = 1_200_000;
const WORDS = 12_000;

/** The frames of such a turn, from a number on to another. */
function longStream(request, from, to) {
  const event = (name, data) => ({ type: "event", props: { event: name, message: name, data } });
  const assistant = { assistant_id: "talker", name: "Talker" };
  const message = { message_id: "M1", type: "text", timestamp: AT };
  const end = { duration_ms: LASTS, status: "completed" };
  const frame = (number) => {
    if (number === 1) return event("stream_start", { context_id: `${request}.c0`, request_id: request, chat_id: "long", timestamp: AT, assistant });
    if (number === 2) return event("message_start", message);
    if (number === WORDS + 3) return event("message_end", { ...message, ...end, chunk_count: WORDS });
    if (number === WORDS + 4) return event("stream_end", { ...end, request_id: request });
    return { type: "text", props: { content: `w${number - 2} ` }, chunk_id: `C${number - 2}`, message_id: "M1", delta: true };
  };
  const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  return numbers.map((number) => `id: ${number}\ndata: ${JSON.stringify(frame(number))}\n\n`).join("");
}

test("a_turn_of_twenty_minutes_is_joined_in_its_middle_and_resumed_by_number_until_its_end", async () => {
  const { ambit: { request_id: request } } = await say(ambit.server, "long", "Hello", "talker");
  const real = await read(ambit.server, "/chat/sessions/long?assistant_id=talker");
  const items = await stored(ambit.server, real.context);
  const isOwn = (item) => item.request_id === request && item.role === "assistant";
  const text = Array.from({ length: WORDS }, (_, at) => `w${at + 1} `).join("");
  const asked = [];
  let isOver = false;
  const stream = (after) => {
    asked.push(after);
    // Joined in its middle; the connection breaks there, and comes again with what is said until the end.
    const last = after === 0 ? WORDS / 2 : WORDS + 4;
    isOver = last > WORDS;
    return { type: "text/event-stream", body: longStream(request, after + 1, last) };
  };
  const long = (item) => (isOwn(item) ? { ...item, props: { ...item.props, content: text } } : item);
  const recorded = () => items.filter((item) => isOver || !isOwn(item)).map(long);
  const answers = {
    "GET /chat/sessions/*": () => ({ body: { ...real, running: isOver ? null : request } }),
    "GET /chat/sessions/*/messages": () => ({ body: { items: recorded(), next: null } }),
    "GET /chat/requests/*/stream": ({ headers }) => stream(Number(headers["last-event-id"] ?? 0)),
  };
  const { page, check } = await openRecorded(ambit, `#/chats/${real.context}`, answers);
  await said(page, `w${WORDS}`).waitFor();
  assert.deepEqual(asked, [0, WORDS / 2], "it goes on behind the last number, and reads nothing twice");
  await settles(() => shownIds(page), () => ids(recorded()));
  await settles(async () => (await said(page, `w${WORDS}`).innerText()).match(/w\d+/g)?.length, WORDS);
  check();
});
