// Recorded answers for the view of turns: routes of calls, which the server does not have yet, and a trace of thousands of nodes.

/**
 * Answers requests of the page by their path below the base: with an object, what a function makes of the URL, a status, or a text
 * as a stream.
 */
export async function giveAnswers(page, server, answers) {
  const base = new URL(server.api).pathname;
  const isAnswered = (url) => url.pathname.startsWith(base) && url.pathname.slice(base.length) in answers;
  await page.route(isAnswered, (route) => {
    const url = new URL(route.request().url());
    const answer = answers[url.pathname.slice(base.length)];
    if (route.request().method() !== "GET") return route.continue();
    if (typeof answer.status === "number") return route.fulfill({ status: answer.status, json: { error: { message: "no", code: "not_found" } } });
    if (answer.stream) return route.fulfill({ contentType: "text/event-stream", body: answer.stream });
    return route.fulfill({ json: typeof answer === "function" ? answer(url) : answer });
  });
}

const START = 1_764_300_000_000;

/** The events of a trace of so many nodes: a tree ten wide, whose nodes last for some milliseconds each. */
export function longTrace(id, count) {
  const frames = [];
  let number = 0;
  const send = (event) => frames.push(`id: ${(number += 1)}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({ type: "init", trace_id: id, request_id: id, chat_id: "one", assistant_id: "shop", at: START });
  for (let n = 1; n <= count; n += 1) {
    const parent = n === 1 ? [] : [`n${Math.floor((n - 2) / 10) + 1}`];
    const node = {
      id: `n${n}`, parent_ids: parent, label: `Step ${n % 7}`, type: n === 1 ? "turn" : "step", icon: "", description: "", metadata: {},
      status: "running", input: null, output: null, error: null, start_at: START + n, end_at: null,
    };
    send({ type: "node_start", node, left_out: ["input"] });
    send({ type: "node_complete", id: `n${n}`, status: "completed", at: START + n + 20 + (n % 50) });
  }
  send({ type: "complete", status: "completed", at: START + count + 100 });
  return frames.join("");
}

const block = (n, role, kind, source, hash, tokens) => ({ n, role, kind, source, via: null, bytes: tokens * 4, tokens, hash, cut: [] });

/** A call with a prompt and a message. */
export function firstCall(request) {
  const prompt = { file: "assistants/shop/prompts.yml", index: 0, version: "v1" };
  const blocks = [block(0, "system", "prompt", prompt, "h0", 30), block(1, "user", "history", { message_id: `${request}.M1` }, "h1", 20)];
  const texts = ["You sell lamps.\nBe short.", "How many lamps are there?"];
  return call(request, 0, blocks, texts);
}

/** The call after it, with another prompt and a message more. */
export function otherCall(request) {
  const prompt = { file: "assistants/shop/prompts.yml", index: 0, version: "v2" };
  const blocks = [
    block(0, "system", "prompt", prompt, "h2", 31),
    block(1, "user", "history", { message_id: `${request}.M1` }, "h1", 20),
    block(2, "tool", "tool_result", { message_id: `${request}.M2`, tool_call_id: "call_1", server: "stock", tool: "find" }, "h3", 12),
  ];
  return call(request, 1, blocks, ["You sell lamps.\nBe kind.", "How many lamps are there?", "12"]);
}

function call(request, index, blocks, texts) {
  const id = `${request}.call-${index}`;
  const common = {
    call_id: id, node_id: "n4", index, agent: "shop", connector: "scripted", model: "scripted-1", status: "completed", at: START, duration_ms: 20,
    tokens: { estimated: blocks.reduce((sum, one) => sum + one.tokens, 10), window: 1000, reserve: 100 }, usage: { total_tokens: 70 },
  };
  const messages = blocks.map((one, n) => ({ role: one.role, content: texts[n] }));
  return {
    row: common,
    manifest: {
      ...common, request_id: request, trace_id: request, thread_id: null, provider: "scripted", finish_reason: "stop", ttft_ms: 4,
      attempts: [{ at: START, error: null }], cost: { USD: 1234 },
      settings: { connector: { value: "scripted", layer: "package" } },
      options: { temperature: { value: 0.2, layer: "create", over: { connector: 1, package: 0.7 } } },
      blocks, tools: [{ n: 0, name: "stock__find", server: "stock", tool: "find", bytes: 40, tokens: 10, hash: "t0" }],
      dropped: [{ kind: "history", reason: "history_size", count: 12, first: "M1", last: "M12", tokens: 3400 }],
      reads: [{ node_id: "n2", space: "user", key: "name" }], body: { bytes: 100, sha256: "ab12", encoder: "scripted/1" },
    },
    contents: messages.map((content, n) => ({ hash: blocks[n].hash, content })),
    request: {
      body: { model: "scripted-1", messages, tools: [{ name: "stock__find" }] }, sha256: "ab12", exact: true, reason: null, missing: [],
      places: [...blocks.map((one) => ({ block: one.n, at: [`/messages/${one.n}`] })), { tool: 0, at: ["/tools/0"] }], hidden: [],
    },
  };
}
