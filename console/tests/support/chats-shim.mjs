// In front of a server whose routes of chats have no `context` yet, and a connection that cases may cut: it answers what the contract
// says of `context`, by what the server has. A server that has it is passed through.

import http from "node:http";

/** Starts in front of a port. `cut(pieces)` breaks each of the next streams of turns after so many pieces, until `heal()`. */
export async function startChatsShim(server) {
  const shim = { cuts: 0, after: 0, streams: 0 };
  const listener = http.createServer((request, answer) => void handle(server.api, shim, request, answer));
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  shim.port = listener.address().port;
  shim.cut = (count, after) => Object.assign(shim, { cuts: count, after });
  shim.close = () => (listener.closeAllConnections(), listener.close());
  return shim;
}

async function handle(api, shim, request, answer) {
  const url = new URL(request.url, api);
  const isOld = await lacksContext(api);
  const context = url.searchParams.get("context");
  if (isOld && context !== null && !(await nameChat(api, url, context))) {
    answer.writeHead(404, { "content-type": "application/json" });
    return answer.end(JSON.stringify({ error: { message: "not found", code: "not_found", type: "not_found_error" } }));
  }
  const { method, headers } = request;
  const forwarded = http.request(url, { method, headers: { ...headers, host: url.host } }, (response) => {
    const isChats = isOld && /\/chat\/sessions(\/[^/]+)?$/.test(url.pathname) && response.statusCode === 200;
    if (isChats) void addContexts(api, response, answer);
    else pass(shim, url, response, answer);
  });
  forwarded.on("error", () => answer.destroy());
  answer.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
}

function pass(shim, url, response, answer) {
  answer.writeHead(response.statusCode, response.headers);
  if (!/\/requests\/[^/]+\/stream$/.test(url.pathname)) return response.pipe(answer);
  shim.streams += 1;
  if (shim.cuts <= 0) return response.pipe(answer);
  shim.cuts -= 1;
  let pieces = 0;
  response.on("data", (piece) => {
    pieces += 1;
    if (pieces <= shim.after) answer.write(piece);
    else answer.destroy();
  });
  response.on("end", () => answer.end());
}

const old = new Map();
async function lacksContext(api) {
  if (!old.has(api)) old.set(api, fetch(`${api}/chat/sessions/-?context=none`).then((answer) => answer.status === 400));
  return old.get(api);
}

/** Puts the chat's name in the place of its row; false if there is no such row. */
async function nameChat(api, url, context) {
  const found = await fetch(`${api}/contexts/${encodeURIComponent(context)}`);
  if (!found.ok) return false;
  const row = await found.json();
  url.searchParams.delete("context");
  if (url.pathname.endsWith("/completions")) url.searchParams.set("chat_id", row.chat_name);
  else if (!url.pathname.includes("/chat/requests")) url.searchParams.set("assistant_id", row.agent_name);
  url.pathname = url.pathname.replace(/\/-(?=\/|$)/, `/${encodeURIComponent(row.chat_name)}`);
  if (url.pathname.includes("/memory/")) url.searchParams.delete("assistant_id");
  return true;
}

async function addContexts(api, response, answer) {
  const body = JSON.parse(await text(response));
  const { items } = await (await fetch(`${api}/contexts?scope=chatHistory&limit=100`)).json();
  const chats = Array.isArray(body.data) ? body.data : [body];
  for (const chat of chats) {
    const row = items.find((item) => item.chat_name === chat.chat_id && item.agent_name === chat.assistant_id);
    Object.assign(chat, { context: row?.id ?? `none-${chat.chat_id}`, user_id: row?.user_id ?? null, team_id: null });
  }
  answer.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function text(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
