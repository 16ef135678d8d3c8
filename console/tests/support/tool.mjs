// A tool whose calls end when a case says so, so that a node can be killed in the middle of one.

import http from "node:http";

/** Starts what the tool `fruit__search` of the app `chats` asks. Each call waits for `release()`; `calls` counts them. */
export async function startTool() {
  const waiting = new Set();
  const server = http.createServer((request, answer) => {
    tool.calls += 1;
    waiting.add(answer);
    answer.once("close", () => waiting.delete(answer));
  });
  const tool = {
    calls: 0,
    release() {
      for (const answer of waiting) answer.end("oranges ripen in winter");
    },
    close: () => (server.closeAllConnections(), server.close()),
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  const host = { host: address, private: true };
  const script = `export function Search() { return http.Get(${JSON.stringify(address)}).data; }`;
  /** The files of the tool, for `useConsole`. */
  tool.files = {
    "app.yao": JSON.stringify({ name: "Chats", version: "1.0.0", ambit: { capabilities: { http: [host] } } }),
    "scripts/fruit.ts": script,
  };
  return tool;
}
