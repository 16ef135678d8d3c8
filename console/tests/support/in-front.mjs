// A server in front of the server at hand, for routes that it does not have yet.

import http from "node:http";

/**
 * Lets the console of `server` speak to it. `answerOf(request, url, body)` gives `{status, type?, body}` for paths that begin
 * with `path`; all others are forwarded.
 */
export async function putInFront(server, path, answerOf) {
  const { port, stop } = server;
  const front = http.createServer((request, answer) => {
    const url = new URL(request.url, server.api);
    if (!url.pathname.startsWith(path)) return forward(port, request, answer);
    respond(request, url, answer, answerOf).catch((error) => answer.destroy(error));
  });
  await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
  server.port = front.address().port;
  server.stop = async () => {
    front.closeAllConnections();
    front.close();
    await stop();
  };
}

async function respond(request, url, answer, answerOf) {
  let sent = "";
  for await (const piece of request) sent += piece;
  const { status, type = "application/json", body } = await answerOf(request, url, sent);
  answer.writeHead(status, { "content-type": type }).end(body ?? "");
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
