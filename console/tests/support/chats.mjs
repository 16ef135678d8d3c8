// What cases do in a chat, and what they read of it by the API.

import { settles } from "./wait.mjs";

export const read = async (server, path) => (await fetch(`${server.api}${path}`)).json();
export const contextOf = async (server, chat, agent) => (await read(server, `/chat/sessions/${encodeURIComponent(chat)}?assistant_id=${agent}`)).context;
export const stored = async (server, context) => (await read(server, `/chat/sessions/-/messages?limit=100&context=${context}`)).items;
export const said = (page, text) => page.locator(".message", { hasText: text }).last();
export const shownIds = (page) => page.locator("[data-part=conversation] .message").evaluateAll((rows) => rows.map((row) => row.dataset.id));
/** What the messages say, without their buttons. */
export const shownTexts = (page) => page.locator("[data-part=conversation] .message .body").allInnerTexts();

/** Starts a turn by the API and answers its id at once. */
export async function begin(server, agent, chat, content) {
  const body = { model: agent, chat_id: chat, stream: true, accept: "cui-web", messages: [{ role: "user", content }] };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server.api}/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
  await answer.body.cancel();
  return answer.headers.get("x-ambit-request");
}

export async function write(page, text) {
  await page.locator('textarea[name="message"]').fill(text);
  await page.locator('textarea[name="message"]').press("Enter");
}

/** Waits until no turn runs in the chat or is shown as running, and what is shown is what is stored. */
export async function assertStored(server, page, context) {
  const isRunning = async () => (await read(server, `/chat/sessions/-?context=${context}`)).running !== null;
  const isShownAsRunning = async () => (await page.locator("[data-waiting], [data-part=running]").count()) > 0;
  const shown = async () => [(await isRunning()) || (await isShownAsRunning()), await shownIds(page)];
  await settles(shown, async () => [false, (await stored(server, context)).map((row) => row.id)]);
}
