// A connection in front of the server that breaks when a case says so.

import http from "node:http";

/** Lets the console speak to the server through it. `cut(3)` breaks three streams of turns, each in the middle of what it sends first. */
export async function cutStreams(server) {
  const cuts = { left: 0, cut: (count) => (cuts.left = count) };
  const { port } = server;
  const front = http.createServer((request, answer) => {
    const { method, url, headers } = request;
    const forwarded = http.request({ port, host: "127.0.0.1", method, path: url, headers }, (response) => pass(cuts, url, response, answer));
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
  server.port = front.address().port;
  cuts.close = () => (front.closeAllConnections(), front.close());
  return cuts;
}

function pass(cuts, url, response, answer) {
  answer.writeHead(response.statusCode, response.headers);
  if (cuts.left === 0 || !/\/requests\/[^/]+\/stream(\?|$)/.test(url)) return response.pipe(answer);
  response.on("end", () => answer.end());
  response.on("data", (piece) => {
    if (answer.destroyed) return;
    if (cuts.left === 0) return answer.write(piece);
    cuts.left -= 1;
    answer.write(piece.subarray(0, piece.length / 2), () => answer.destroy());
  });
}
