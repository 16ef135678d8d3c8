// Recorded answers for the view of turns: a trace of thousands of nodes, and a call with all that can happen to one.

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

/** The answers for a call that has what the app of the cases cannot bring about. */
export function recordedCall(request) {
  const id = `${request}.call-0`;
  const row = {
    call_id: id, node_id: "n4", index: 0, agent: "shop", connector: "scripted", model: "scripted-1", status: "error", at: START, duration_ms: 20,
    tokens: { estimated: 62, window: 1000, reserve: 100 }, usage: null,
  };
  const block = (n, role, kind, source, more = {}) => ({ n, role, kind, source, bytes: 80, tokens: 20, hash: `h${n}`, cut: [], ...more });
  const manifest = {
    ...row, request_id: request, trace_id: request, thread_id: null, provider: "scripted", finish_reason: null, ttft_ms: null,
    attempts: [{ at: START, error: "too many requests" }, { at: START, error: "no answer" }], cost: {},
    settings: { connector: { value: "scripted", layer: "package" } },
    options: { temperature: { value: 0.2, layer: "create", over: { connector: 1, package: 0.7 } } },
    blocks: [
      block(0, "user", "history", { message_id: "01m0" }, { count: 12 }),
      block(1, "tool", "tool_result", { tool_call_id: "call_1" }, { cut: [{ reason: "tool_result_limit", part: 0, bytes: 700 }] }),
      block(2, "system", "reference", { references: ["1"], query: "lamps", types: ["kb"] }),
      block(3, "user", "hook", { file: "assistants/shop/src/index.ts", function: "Create", node_id: "n2" }),
    ],
    tools: [{ n: 0, name: "stock__find", server: "stock", tool: "find", bytes: 40, tokens: 2, hash: "t0" }],
    dropped: [{ kind: "history", reason: "history_size", count: 12, first: "M1", last: "M12", tokens: 3400 }],
    reads: [{ node_id: "n2", space: "user", key: "name" }], body: { bytes: 100, sha256: "ab12", encoder: "scripted/1" },
  };
  const rendered = {
    body: { messages: [{ role: "tool", content: "12" }], token: "***" }, sha256: "cd34", exact: false, reason: "contents are gone", missing: [0, 3],
    missing_tools: [0], places: [{ block: 1, at: ["/messages/0"] }], hidden: ["token"],
  };
  return {
    [`/chat/requests/${request}/calls`]: { items: [row] },
    [`/calls/${id}/manifest`]: manifest,
    [`/calls/${id}/request`]: rendered,
    [`/chat/references/${request}/1`]: { index: 1, type: "kb", title: "All about lamps", url: "", content: "Lamps glow.", score: 0.5 },
    [`/calls/${id}/blocks/0`]: { hash: "h0", gone: "erased" },
    [`/calls/${id}/blocks/3`]: { hash: "h3", gone: "not_kept" },
    [`/calls/${id}/tools/0`]: { hash: "t0", gone: "expired" },
  };
}
