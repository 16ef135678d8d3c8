// Numbers the versions of memory values, and picks chats by their context, in front of a server that does neither yet. It is
// strict: a write without `expect` is refused.

import { createHash } from "node:crypto";
import { putInFront } from "./in-front.mjs";

/** Lets the console of `server` speak to the numbering, unless the server numbers itself. */
export async function numberVersions(server) {
  const document = await (await fetch(new URL("/openapi.json", server.api))).json();
  const removal = document.paths["/v1/memory/{space}/keys/{key}"].delete;
  if (removal.parameters.some((parameter) => parameter.name === "expect")) return;
  await putInFront(server, "/v1/memory/", async ({ method }, url, body) => memoryAnswer(server.api, method, await withChat(server.api, url), body));
}

/** The address with the chat's name and agent in the place of its context. */
async function withChat(api, url) {
  const context = url.searchParams.get("context");
  if (context === null) return url;
  const row = await (await fetch(`${api}/contexts/${context}`)).json();
  url.searchParams.delete("context");
  url.searchParams.set("assistant_id", row.agent_name);
  url.pathname = url.pathname.replace("/chat/-", `/chat/${encodeURIComponent(row.chat_name)}`);
  return url;
}

async function memoryAnswer(api, method, url, body) {
  const [path, key] = url.pathname.split("/keys/");
  if (key === undefined) return listed(url);
  const list = new URL(url);
  list.pathname = path;
  const present = await read(url, list, decodeURIComponent(key));
  if (method === "GET") return present.status === 200 ? { status: 200, body: present.body } : present;
  const expect = method === "PUT" ? JSON.parse(body).expect : url.searchParams.get("expect");
  if (expect === undefined || (method === "DELETE" && expect === null)) return refused(400, "invalid_argument", "expect is missing");
  if (present.version !== expect) return refused(409, "conflict", "the value has another version", { version: present.version });
  url.searchParams.delete("expect");
  const sent = method === "PUT" ? putBody(body, present.expires_at) : undefined;
  const answer = await fetch(url, { method, body: sent, headers: { "content-type": "application/json" } });
  return { status: answer.status, body: answer.status === 204 ? null : await answer.text() };
}

async function listed(url) {
  const answer = await fetch(url);
  if (!answer.ok) return { status: answer.status, body: await answer.text() };
  const page = await answer.json();
  for (const row of page.data) {
    const one = new URL(url);
    one.pathname += `/keys/${encodeURIComponent(row.key)}`;
    one.searchParams.delete("pattern");
    one.searchParams.delete("page");
    one.searchParams.delete("pagesize");
    row.version = versionOf(await (await fetch(one)).text(), row.expires_at);
  }
  return { status: 200, body: JSON.stringify(page) };
}

async function read(url, list, key) {
  const address = new URL(url);
  address.searchParams.delete("expect");
  const answer = await fetch(address);
  const body = await answer.text();
  if (!answer.ok) return { status: answer.status, body, version: null, expires_at: null };
  list.searchParams.delete("expect");
  list.searchParams.set("pagesize", "100");
  const rows = (await (await fetch(list)).json()).data;
  const { type, bytes, expires_at } = rows.find((row) => row.key === key);
  const version = versionOf(body, expires_at);
  const known = JSON.stringify({ type, bytes, expires_at, version }).slice(1);
  return { status: 200, body: `${body.slice(0, -1)},${known}`, version, expires_at };
}

const versionOf = (body, expires_at) => createHash("sha256").update(`${body} ${expires_at}`).digest("hex").slice(0, 8);

/** What is sent on; the value stays as it is written, for numbers may have more digits than JavaScript keeps. */
function putBody(body, expires_at) {
  const { ttl } = JSON.parse(body);
  const left = expires_at === null ? null : Math.max(1, Math.round((expires_at - Date.now()) / 1000));
  const value = body.slice('{"value":'.length, body.lastIndexOf(',"expect":'));
  return `{"value":${value},"ttl":${JSON.stringify(ttl === "keep" ? left : ttl)}}`;
}

function refused(status, code, message, details = {}) {
  return { status, body: JSON.stringify({ error: { code, message, details, request_id: "numbering" } }) };
}
