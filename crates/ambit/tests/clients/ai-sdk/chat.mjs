// The chat that `useChat` of `@ai-sdk/react` has, which remembers what came, and what the server lists of it. Which server that
// is, and which version of the package, the program's arguments say: see cases.mjs.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { json, whole } from "./parts.mjs";

const [bases, key, folder, version] = process.argv.slice(2);
const resolve = createRequire(`${folder}/`).resolve;
export const ai = await import(pathToFileURL(resolve(version)));
const react = await import(pathToFileURL(resolve(version.replace("ai", "react"))));
const { DefaultChatTransport, validateUIMessages } = ai;
export const is7 = version === "ai-7";

export const nodes = bases.split(",");
const api = `${nodes[0]}/ai-sdk/chat`;
export const headers = { authorization: `Bearer ${key}`, ...(is7 && { "x-ambit-ai-sdk": "7" }) };
const TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  },
];

/** Asks one node after the other. */
function ask(url, init) {
  nodes.push(nodes.shift());
  return fetch(String(url).replace(/^.*(?=\/ai-sdk\/)/, nodes[0]), init);
}

/** A transport that remembers what came. */
export class Transport extends DefaultChatTransport {
  chunks = [];
  requests = [];
  /** Cuts the connection behind this many chunks. */
  cutAfter = Infinity;

  constructor() {
    super({ api, headers, body: { tools: TOOLS }, fetch: (url, init) => this.send(url, init) });
  }

  async send(url, init) {
    const response = await ask(url, init);
    this.requests.push({ method: init.method, status: response.status, response });
    return response;
  }

  processResponseStream(stream) {
    let count = 0;
    const record = new TransformStream({
      transform: (chunk, controller) => {
        count += 1;
        if (count > this.cutAfter) {
          controller.error(new TypeError("network error"));
          return;
        }
        this.chunks.push(structuredClone(chunk));
        controller.enqueue(chunk);
      },
    });
    return super.processResponseStream(stream).pipeThrough(record);
  }
}

/** A chat that remembers what a page was told of. */
export class Chat extends react.Chat {
  constructor({ id = randomUUID(), messages = [], ...init } = {}) {
    const transport = new Transport();
    super({ id, transport, messages, ...init });
    this.transport_ = transport;
    this.shown = { messages: this.messages, status: this.status };
    // As `useChat` subscribes.
    this["~registerMessagesCallback"](() => (this.shown.messages = this.messages));
    this["~registerStatusCallback"](() => (this.shown.status = this.status));
  }

  get record() {
    return this.transport_;
  }

  say = (text, options = {}) => this.sendMessage({ text, ...options });
}

export const request = (path, init = {}) => ask(`${api}/${path}`, { headers, ...init });

export async function stored(chat, query = "") {
  const response = await request(`${chat.id}/messages?${is7 ? "v=7&" : ""}${query}`);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** What a client holds, as the server is to list it. */
export function held(chat) {
  const { chunks } = chat.record;
  return chat.messages.map((message) => {
    if (message.role !== "assistant") return json(message);
    const own = [];
    let current;
    for (const chunk of chunks) {
      if (chunk.type === "start") current = chunk.messageId;
      if (current === message.id) own.push(chunk);
    }
    const parts = whole(message, own);
    // Later versions of 6 keep an id of thinking too, and do not say so.
    if (!is7) parts.filter((part) => part.type === "reasoning").forEach((part) => delete part.id);
    return { ...json(message), parts };
  });
}

/** The client's messages are those that a page shows and that the server lists, which are valid. */
export async function same(chat) {
  assert.equal(chat.error, undefined);
  assert.equal(chat.shown.messages, chat.messages);
  assert.equal(chat.shown.status, chat.status);
  const list = await stored(chat);
  assert.deepEqual(list, held(chat));
  await validateUIMessages({ messages: list });
  return list;
}

export const texts = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);
export const last = (chat) => chat.messages.at(-1);
export const call = (message) => message.parts.find((part) => part.toolCallId !== undefined);

export async function until(holds) {
  for (let at = 0; at < 24_000 && !holds(); at += 1) {
    await new Promise((wake) => setTimeout(wake, 5));
  }
  assert(holds(), `${holds}`);
}
