// Serves the built files and forwards the API, as long as the server at hand does neither `/console/` nor sessions itself.

import { readFile } from "node:fs/promises";
import http from "node:http";
import { extname } from "node:path";

const folder = new URL("../../../crates/ambit/console/", import.meta.url);
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:", "media-src 'self' data: blob:",
  "connect-src 'self'", "font-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
  "require-trusted-types-for 'script'", "trusted-types svelte-trusted-html dompurify",
].join("; ");

/** Starts the proxy; `session` is what `GET /v1/session` answers. */
export async function startProxy(port, session) {
  const server = http.createServer((request, answer) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path.startsWith("/console/")) void serveFile(path.slice("/console/".length) || "index.html", answer);
    else if (path === "/v1/session" && session) answer.setHeader("content-type", "application/json").end(JSON.stringify(session));
    else forward(port, request, answer);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}

async function serveFile(name, answer) {
  try {
    const content = await readFile(new URL(name, folder));
    answer.writeHead(200, { "content-type": TYPES[extname(name)], "content-security-policy": POLICY }).end(content);
  } catch {
    answer.writeHead(404).end();
  }
}

function forward(port, request, answer) {
  const { method, url, headers } = request;
  const forwarded = http.request({ port, host: "127.0.0.1", method, path: url, headers }, (response) => {
    answer.writeHead(response.statusCode, response.headers);
    response.pipe(answer);
  });
  forwarded.on("error", () => answer.destroy());
  answer.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
}
