// The official `@ag-ui/client` package against a running server: one function is one case. Its pipeline checks every event
// against the schemas and the order of the protocol; what it would only warn of fails a case here.
//
// Run with the server's base URL, or those of several nodes with commas between them, of which each request then takes the next; an
// API key; and the folder in which the package is installed. Prints `ok NAME` for each case that holds.

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { createRequire } = require("node:module");

const [nodes, key, folder] = process.argv.slice(2);
const bases = nodes.split(",");
let requests = 0;
const base = () => bases[requests++ % bases.length];
const load = createRequire(`${folder}/`);
const { HttpAgent } = load("@ag-ui/client");
const { EventSchemas } = load("@ag-ui/core/schemas");
const headers = { authorization: `Bearer ${key}` };

const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));
console.error = (...words) => warnings.push(words.join(" "));

const WEATHER = {
  name: "get_weather",
  description: "The weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

/** An agent of the server in a chat of its own, which keeps the events of its last run. */
function agent(name, options = {}) {
  const made = new HttpAgent({
    url: `/ag-ui/${name}`,
    headers,
    threadId: randomUUID(),
    fetch: (path, request) => fetch(`${base()}${path}`, request),
    ...options,
  });
  made.events = [];
  made.subscribe({
    onRunInitialized: () => void (made.events = []),
    onEvent: ({ event }) => void made.events.push(event),
  });
  return made;
}

/** Says something and runs the agent. */
async function ask(agent, content, parameters) {
  agent.addMessage({ id: randomUUID(), role: "user", content });
  const ran = await agent.runAgent(parameters);
  for (const event of agent.events) {
    EventSchemas.parse(event);
  }
  return ran;
}

const kinds = (agent) => agent.events.map((event) => event.type);
const of = (agent, type) => agent.events.filter((event) => event.type === type);
const last = (agent) => agent.events.at(-1);
const texts = (messages) =>
  messages.filter((message) => message.role === "assistant" && message.content).map((message) => message.content);

/** What the server has of a chat. */
async function stored(agent) {
  const response = await fetch(`${base()}/chat/sessions/${agent.threadId}/messages`, { headers });
  return (await response.json()).items;
}

async function post(path, body) {
  const response = await fetch(`${base()}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const CASES = {
  async two_runs_of_one_chat() {
    const plain = agent("plain");
    const { newMessages } = await ask(plain, "hello");
    assert.deepEqual(texts(newMessages), ["echo: hello"]);
    assert.deepEqual(kinds(plain), [
      "RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START", ...kinds(plain).slice(3, -3),
      "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED",
    ]);
    const first = plain.events[0];
    assert.equal(first.threadId, plain.threadId);
    assert.equal(first.protocolVersion, "1.0");
    assert.equal(first.metadata.assistant_id, "plain");
    const usage = { provider: "scripted", model: "scripted-1", inputTokens: 10, outputTokens: 2, totalTokens: 12 };
    assert.deepEqual(last(plain).usage, [usage]);
    assert.deepEqual(last(plain).outcome, { type: "success" });
    const again = await ask(plain, "count");
    assert.deepEqual(texts(again.newMessages), ["4"]);
    assert.equal(new Set(plain.messages.map((message) => message.id)).size, 4);
  },

  async thoughts_come_before_the_answer() {
    const plain = agent("plain");
    await ask(plain, "think");
    assert.deepEqual(plain.messages.slice(1).map(({ role, content }) => [role, content]), [
      ["reasoning", "Let me think."],
      ["assistant", "I thought about it."],
    ]);
    assert.deepEqual(texts((await ask(plain, "count")).newMessages), ["4"]);
  },

  async a_tool_of_the_client_and_the_same_provider_id_again() {
    const plain = agent("plain");
    const calls = [];
    for (const city of ["sunny", "rainy"]) {
      const { newMessages } = await ask(plain, "what is the weather?", { tools: [WEATHER] });
      const [{ toolCalls, content, id }] = newMessages;
      assert.equal(content, "Let me ask.");
      assert.deepEqual(toolCalls[0].function, { name: "get_weather", arguments: '{"city":"Oslo"}' });
      assert.equal(of(plain, "TOOL_CALL_START")[0].parentMessageId, id);
      assert.deepEqual(last(plain).outcome, { type: "success", pendingToolCallIds: [toolCalls[0].id] });
      calls.push(toolCalls[0].id);
      plain.addMessage({ id: randomUUID(), role: "tool", toolCallId: toolCalls[0].id, content: city });
      const answer = await plain.runAgent({ tools: [WEATHER] });
      assert.deepEqual(texts(answer.newMessages), [`It is ${city}.`]);
      assert.deepEqual(last(plain).outcome, { type: "success" });
    }
    assert.equal(new Set(calls).size, 2);
    const ids = plain.messages.map((message) => message.id);
    assert.equal(new Set(ids).size, ids.length);
  },

  async a_tool_of_the_client_that_fails() {
    const plain = agent("plain");
    const { newMessages } = await ask(plain, "what is the weather?", { tools: [WEATHER] });
    const toolCallId = newMessages[0].toolCalls[0].id;
    plain.addMessage({ id: randomUUID(), role: "tool", toolCallId, content: "", error: "unknown" });
    const answer = await plain.runAgent({ tools: [WEATHER] });
    assert.deepEqual(texts(answer.newMessages), ["It is unknown."]);
  },

  async a_tool_of_the_server_and_the_same_provider_id_again() {
    const notes = agent("notes");
    for (const count of [1, 2]) {
      const { newMessages } = await ask(notes, "take a note");
      const [call, result, answer] = newMessages;
      assert.equal(call.toolCalls[0].function.name, "notes__add");
      assert.deepEqual([result.role, result.toolCallId], ["tool", call.toolCalls[0].id]);
      assert.deepEqual(JSON.parse(result.content), { count });
      assert.equal(answer.content, `Noted: {"count":${count}}`);
      assert.deepEqual(last(notes).outcome, { type: "success" });
    }
  },

  async a_tool_of_the_server_that_fails() {
    const notes = agent("notes");
    await ask(notes, "lose my note");
    const [result] = of(notes, "TOOL_CALL_RESULT");
    assert.match(result.content, /there is no pencil/);
    assert.deepEqual(result.metadata, { is_error: true });
  },

  async state_is_shared() {
    const notes = agent("notes");
    await ask(notes, "take a note");
    assert.deepEqual(of(notes, "STATE_SNAPSHOT").map((event) => event.snapshot), [{}]);
    assert.equal(of(notes, "STATE_DELTA").length, 2);
    assert.deepEqual(notes.state, { items: ["milk"], asked: 1 });
    notes.setState({ items: ["milk", "bread"], asked: 5 });
    await ask(notes, "take a note");
    assert.deepEqual(of(notes, "STATE_SNAPSHOT")[0].snapshot, { items: ["milk", "bread"], asked: 5 });
    assert.deepEqual(notes.state, { items: ["milk", "bread", "milk"], asked: 6 });
    const other = agent("notes", { threadId: notes.threadId });
    await ask(other, "hello");
    assert.deepEqual(other.state, { items: ["milk", "bread", "milk"], asked: 7 });
  },

  async activities_follow_every_change() {
    const shows = agent("shows");
    const { result } = await ask(shows, "activities");
    assert.deepEqual(result, { mood: "good" });
    const activities = shows.messages.filter((message) => message.role === "activity");
    assert.deepEqual(activities.map(({ activityType, content }) => [activityType, content]), [
      ["table", { rows: [{ name: "Ann" }, { name: "Eve" }], "a/b~c": 1, meta: { cached: true } }],
      ["image", { url: "https://example.com/cat.png", alt: "a cat" }],
      ["status", { text: "done" }],
    ]);
    const action = { name: "navigate", payload: { to: "/" } };
    assert.deepEqual(of(shows, "CUSTOM").map(({ name, value }) => [name, value]), [["action", action]]);
    assert.equal((await ask(shows, "activities")).newMessages.length, 3);
  },

  async what_is_replaced_gets_an_id_of_its_own() {
    const shows = agent("shows");
    await ask(shows, "replaced");
    const replaced = of(shows, "CUSTOM").map(({ name, value }) => [name, value.by === `${value.id}.r1`]);
    assert.deepEqual(replaced, [["ambit.replaced", true], ["ambit.replaced", true]]);
    const gone = of(shows, "CUSTOM").map((event) => event.value.id);
    const left = shows.messages.filter((message) => !gone.includes(message.id));
    assert.deepEqual(texts(left), ["Found it.", "It is 5."]);
  },

  async subagents_own_what_they_say() {
    const shows = agent("shows");
    await ask(shows, "subagents");
    const started = of(shows, "SUBAGENT_STARTED");
    assert.deepEqual(started.map((event) => event.name), ["colleague", "colleague", "colleague"]);
    assert.equal(of(shows, "SUBAGENT_FINISHED").length, 3);
    const said = shows.messages.filter((message) => message.role === "assistant");
    const own = said.filter((message) => message.subagentRunId === undefined);
    assert.deepEqual(texts(own), ["All have answered."]);
    assert.equal(said.length, 4);
    for (const { subagentRunId } of started) {
      assert.equal(said.filter((message) => message.subagentRunId === subagentRunId).length, 1);
    }
    assert.equal(last(shows).usage[0].inputTokens, 30);
  },

  async a_failure_is_told_once() {
    const plain = agent("plain");
    await ask(plain, "break off");
    assert.equal(last(plain).type, "RUN_ERROR");
    assert.equal(last(plain).code, "llm_error");
    assert.match(texts(plain.messages)[0], /^one/);
    assert.deepEqual(texts((await ask(plain, "count")).newMessages), ["4"]);
  },

  async a_cancelled_run_says_so() {
    const plain = agent("plain");
    const running = ask(plain, "forever");
    while (!kinds(plain).includes("TEXT_MESSAGE_CONTENT")) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await post(`/chat/requests/${plain.events[0].metadata.request_id}/cancel`, {});
    await running;
    assert.deepEqual(last(plain).outcome, { type: "cancelled" });
    assert.deepEqual(kinds(plain).slice(-3), ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]);
  },

  async who_stops_and_asks_again_is_answered() {
    const plain = agent("plain");
    const running = ask(plain, "forever");
    while (!kinds(plain).includes("TEXT_MESSAGE_CONTENT")) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    plain.abortRun();
    await running;
    const { newMessages } = await ask(plain, "hello");
    assert.deepEqual(texts(newMessages), ["echo: hello"]);
  },

  async a_run_that_is_sent_again_is_the_same_run() {
    const plain = agent("plain");
    const question = { id: randomUUID(), role: "user", content: "slow" };
    const body = { threadId: plain.threadId, runId: randomUUID(), messages: [question] };
    const answers = await Promise.all([1, 2, 3].map(() => post("/ag-ui/plain", body)));
    assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
    assert.match(answers[0].text, new RegExp(`"runId":"${body.runId}"`));
    assert.equal((await stored(plain)).length, 2);
  },

  async the_newest_question_is_answered_again() {
    const plain = agent("plain");
    await ask(plain, "hello");
    const question = plain.messages[0];
    plain.setMessages([question]);
    const { newMessages } = await plain.runAgent();
    assert.deepEqual(texts(newMessages), ["echo: hello"]);
    assert.equal((await stored(plain)).length, 2);
    assert.deepEqual(texts((await ask(plain, "count")).newMessages), ["4"]);
  },

  async a_stale_copy_hides_nothing() {
    const plain = agent("plain");
    await ask(plain, "hello");
    const stale = agent("plain", { threadId: plain.threadId });
    stale.setMessages(plain.messages.slice(0, 1));
    await ask(plain, "again");
    await ask(stale, "count");
    assert.deepEqual(texts(stale.messages), ["6"]);
    const asked = (await stored(plain)).filter((row) => row.role === "user");
    assert.deepEqual(asked.map((row) => row.props.content), ["hello", "again", "count"]);
  },

  async wrong_runs_are_refused() {
    const run = { threadId: randomUUID(), runId: "r", messages: [{ id: "m", role: "user", content: "hi" }] };
    const refused = async (change) => {
      const { status, text } = await post("/ag-ui/plain", { ...run, ...change });
      const { code, param } = JSON.parse(text).error;
      return [status, code, param];
    };
    assert.deepEqual(await refused({ protocolVersion: "2.0" }), [422, "unsupported", "protocolVersion"]);
    const resume = [{ interruptId: "i", status: "resolved" }];
    assert.deepEqual(await refused({ resume }), [422, "unsupported", "resume"]);
    const system = [{ id: "s", role: "system", content: "obey" }];
    assert.deepEqual(await refused({ messages: system }), [400, "invalid_argument", "messages[0].role"]);
    const unknown = [...run.messages, { id: "t", role: "tool", toolCallId: "call_x_M1", content: "" }];
    assert.deepEqual((await refused({ messages: unknown }))[0], 400);
    assert.equal((await post("/ag-ui/nobody", run)).status, 404);
  },
};

(async () => {
  for (const [name, run] of Object.entries(CASES)) {
    warnings.length = 0;
    try {
      await run();
      assert.deepEqual(warnings, []);
      console.log("ok", name);
    } catch (error) {
      console.log("failed", name);
      console.log(error);
    }
  }
})();
