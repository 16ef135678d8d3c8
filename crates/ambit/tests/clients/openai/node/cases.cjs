// The official `openai` and `@openai/agents` packages for Node, Responses and Conversations: one function is one case.
//
// Run with the server's base URLs, each a node of it, an API key and the folder in which the packages are installed; prints `ok NAME`
// for each case that holds.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");

const [bases, key, folder] = process.argv.slice(2);
const from = createRequire(`${folder}/`);
const OpenAI = from("openai");
const { z } = from("zod");
const agents = from("@openai/agents");
const nodes = bases.split(",");
const baseURL = nodes[0];
const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0, timeout: 60_000, fetch: next });
agents.setDefaultOpenAIClient(client);
agents.setTracingDisabled(true);
const { responses, conversations } = client;

const TOOL = {
  type: "function",
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};
const ANSWER = "It is sunny in Oslo.";
const tool = agents.tool({
  name: "get_weather",
  description: "The weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const agent = new agents.Agent({
  name: "Forecaster",
  instructions: "Tell the weather.",
  model: "helper",
  tools: [tool],
});

const ask = (input, more) => responses.create({ model: "helper", input, ...more });

/** Asks one node after the other. */
function next(url, init) {
  nodes.push(nodes.shift());
  return fetch(url.replace(baseURL, nodes[0]), init);
}

/** The error with which something is refused. */
async function refused(kind, call) {
  const error = await call.then(() => assert.fail(`${kind.name} was not thrown`), (error) => error);
  assert(error instanceof kind, `${error}`);
  return error;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const kinds = (items) => items.map((item) => item.type);

const cases = {
  async a_whole_answer() {
    const answer = await ask("hello", { metadata: { a: "b" } });
    assert.equal(answer.output_text, "echo: hello");
    assert.equal(answer.status, "completed");
    assert.deepEqual(answer.metadata, { a: "b" });
    const again = await responses.retrieve(answer.id);
    assert.deepEqual(again.output, answer.output);
  },

  async a_streamed_answer() {
    const events = await all(await ask("think", { stream: true }));
    assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
    const last = events.at(-1);
    assert.equal(last.type, "response.completed");
    assert.deepEqual(kinds(last.response.output), ["reasoning", "message"]);
  },

  async streamed_through_the_helper() {
    const stream = responses.stream({ model: "helper", input: "weather", tools: [TOOL] });
    const deltas = [];
    stream.on("response.function_call_arguments.delta", (event) => deltas.push(event.delta));
    const final = await stream.finalResponse();
    assert.equal(deltas.join(""), final.output[0].arguments);
    const text = await responses.stream({ model: "helper", input: "think" }).finalResponse();
    assert.equal(text.output_text, "I thought about it.");
    const server = await responses.stream({ model: "lookup", input: "ping" }).finalResponse();
    assert.deepEqual(kinds(server.output), ["mcp_call", "message"]);
  },

  async a_function_of_the_client() {
    const first = await ask("weather", { tools: [TOOL] });
    const output = { type: "function_call_output", call_id: first.output[0].call_id, output: "sunny" };
    const second = await ask([output], { tools: [TOOL], previous_response_id: first.id });
    assert.equal(second.output_text, "It is sunny.");
  },

  async in_the_background() {
    let answer = await ask("slow", { background: true });
    while (answer.status === "in_progress" || answer.status === "queued") {
      await new Promise((done) => setTimeout(done, 50));
      answer = await responses.retrieve(answer.id);
    }
    assert(answer.output_text.endsWith("nine ten"), answer.output_text);
  },

  async taken_up_behind_an_event() {
    const answer = await ask("hello");
    const whole = await all(await responses.retrieve(answer.id, { stream: true }));
    const rest = await all(await responses.retrieve(answer.id, { stream: true, starting_after: 3 }));
    assert.deepEqual(rest, whole.slice(4));
    const stream = responses.stream({ response_id: answer.id, starting_after: 3 });
    assert.equal((await stream.finalResponse()).output_text, "echo: hello");
  },

  async cancelled() {
    const running = await ask("forever", { background: true });
    assert.equal((await responses.cancel(running.id)).status, "cancelled");
  },

  async a_conversation_and_its_items() {
    const talk = await conversations.create({ metadata: { topic: "x" }, items: [{ role: "user", content: "hi" }] });
    const answer = await ask("hello", { conversation: talk.id });
    assert.equal(answer.conversation.id, talk.id);
    const items = await conversations.items.list(talk.id, { order: "asc" });
    assert.deepEqual(items.data.map((item) => item.content[0].text), ["hi", "hello", "echo: hello"]);
    const added = await conversations.items.create(talk.id, { items: [{ role: "user", content: "more" }] });
    assert.equal(added.data[0].content[0].text, "more");
    const one = await conversations.items.retrieve(added.data[0].id, { conversation_id: talk.id });
    assert.deepEqual(one, added.data[0]);
    assert.deepEqual((await conversations.update(talk.id, { metadata: { topic: "y" } })).metadata, { topic: "y" });
    assert.equal((await conversations.delete(talk.id)).deleted, true);
    await refused(OpenAI.NotFoundError, conversations.retrieve(talk.id));
  },

  async wrong_requests_are_refused() {
    await refused(OpenAI.NotFoundError, ask("hello", { model: "nobody" }));
    await refused(OpenAI.UnprocessableEntityError, responses.compact({ model: "helper", input: "x" }));
    await refused(OpenAI.BadRequestError, ask("hello", { model: "strict", instructions: "obey" }));
  },

  async a_run_with_a_function_tool() {
    const result = await agents.run(agent, "weather");
    assert.equal(result.finalOutput, ANSWER);
    const again = await agents.run(agent, [...result.history, { role: "user", content: "hello" }]);
    assert.equal(again.finalOutput, "echo: hello");
  },

  async a_streamed_run() {
    const result = await agents.run(agent, "weather", { stream: true });
    const events = await all(result);
    await result.completed;
    assert.equal(result.finalOutput, ANSWER);
    assert(kinds(events).includes("raw_model_stream_event"));
  },

  async a_run_with_a_previous_response() {
    const first = await agents.run(agent, "weather");
    const second = await agents.run(agent, "hello", { previousResponseId: first.lastResponseId });
    assert.equal(second.finalOutput, "echo: hello");
  },

  async a_run_with_a_conversation() {
    const { id } = await conversations.create({});
    assert.equal((await agents.run(agent, "weather", { conversationId: id })).finalOutput, ANSWER);
    assert.equal((await agents.run(agent, "hello", { conversationId: id })).finalOutput, "echo: hello");
    const items = await conversations.items.list(id, { order: "asc" });
    const expected = ["message", "function_call", "function_call_output", "message", "message", "message"];
    assert.deepEqual(kinds(items.data), expected);
  },

  async a_run_with_a_session() {
    const session = new agents.OpenAIConversationsSession({ client });
    assert.equal((await agents.run(agent, "weather", { session })).finalOutput, ANSWER);
    assert.equal((await agents.run(agent, "hello", { session })).finalOutput, "echo: hello");
    const items = await session.getItems();
    assert.equal(items.length, 6);
    const popped = await session.popItem();
    assert.equal(popped.content[0].text, "echo: hello");
    assert.deepEqual(await session.getItems(), items.slice(0, -1));
    const id = await session.getSessionId();
    await session.clearSession();
    await refused(OpenAI.NotFoundError, conversations.retrieve(id));
  },
};

(async () => {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log("ok", name);
    } catch (error) {
      console.log("failed", name, error);
    }
  }
})();
