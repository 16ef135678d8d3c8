// A model whose slow answers end when a case says so, so that a turn runs for as long as the case needs it.

import http from "node:http";

const COUNT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
const START = COUNT.split(" ").slice(0, 5).join(" ");

/** Starts it. Asked for something "slowly" it says the first words, and the others after `release()`; else it repeats what it is told. */
export async function startModel() {
  const waiting = new Set();
  const server = http.createServer((request, answer) => void speak(request, answer, waiting));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    /** The files of a connector `held` to it, for `useConsole`. */
    files: { "connectors/held.conn.yao": JSON.stringify(connector(server.address().port)) },
    release() {
      for (const resume of waiting) resume();
      waiting.clear();
    },
    close: () => (server.closeAllConnections(), server.close()),
  };
}

function connector(port) {
  return { label: "Held", type: "openai", options: { host: `http://127.0.0.1:${port}/v1`, key: "none", model: "held-1" } };
}

async function speak(request, answer, waiting) {
  let sent = "";
  for await (const piece of request) sent += piece;
  const said = JSON.parse(sent).messages.filter(({ role }) => role === "user").at(-1).content;
  answer.writeHead(200, { "content-type": "text/event-stream" });
  const say = (delta, finish_reason = null) =>
    answer.write(`data: ${JSON.stringify({ id: "held", object: "chat.completion.chunk", model: "held-1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  if (/slowly/i.test(said)) {
    for (const word of START.split(" ")) say({ content: `${word} ` });
    await new Promise((resume) => {
      waiting.add(resume);
      answer.once("close", resume);
    });
    for (const word of COUNT.slice(START.length + 1).split(" ")) say({ content: `${word} ` });
  } else {
    say({ content: `You said: ${said}` });
  }
  say({}, "stop");
  answer.end("data: [DONE]\n\n");
}
