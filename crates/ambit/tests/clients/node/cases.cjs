// The official `openai` package for Node against a running server: one function is one case.
//
// Run with the server's base URLs, each a node of it, an API key and the folder in which the package is installed; prints `ok NAME`
// for each case that holds.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");

const [bases, key, folder] = process.argv.slice(2);
const OpenAI = createRequire(`${folder}/`)("openai");
const nodes = bases.split(",");
const baseURL = nodes[0];
const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0, timeout: 60_000, fetch: next });
const completions = client.chat.completions;

const user = (text) => [{ role: "user", content: text }];
const hello = { model: "plain", messages: user("hello") };
const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

/** Asks one node after the other. */
function next(url, init) {
  nodes.push(nodes.shift());
  return fetch(url.replace(baseURL, nodes[0]), init);
}

/** The error with which a request is refused. */
async function refused(kind, request, options) {
  const error = await completions.create({ ...hello, ...request }, options).then(
    () => assert.fail(`${kind.name} was not thrown`),
    (error) => error,
  );
  assert(error instanceof kind, `${error}`);
  return error;
}

const turn = (id) => client.get(`/chat/requests/${id}`);

/** Waits for the end of a turn by reading its stream. */
async function endOf(id) {
  const response = await client.get(`/chat/requests/${id}/stream`).asResponse();
  await response.text();
  return turn(id);
}

async function streamed(request) {
  const { data, response } = await completions
    .create({ ...hello, ...request, stream: true })
    .withResponse();
  return [data, response.headers.get("x-ambit-request")];
}

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
  }
  return chunks;
}

const CASES = {
  async a_whole_answer() {
    const answer = await completions.create(hello);
    assert.equal(answer.object, "chat.completion");
    assert.equal(answer.choices[0].message.content, "echo: hello");
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.equal(answer.usage.total_tokens, 12);
    assert.equal(answer.id, `chatcmpl-${answer.ambit.request_id}`);
  },

  async a_streamed_answer() {
    const [stream] = await streamed({ stream_options: { include_usage: true } });
    const chunks = await all(stream);
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    assert.equal(text, "echo: hello");
    assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
    assert.equal(chunks.at(-1).usage.total_tokens, 12);
  },

  async streamed_through_the_helper() {
    const stream = completions.stream(hello);
    assert.equal(await stream.finalContent(), "echo: hello");
    const answer = await stream.finalChatCompletion();
    assert.equal(answer.choices[0].finish_reason, "stop");
  },

  async reasoning_beside_the_answer() {
    const answer = await completions.create({ ...hello, messages: user("think") });
    assert.equal(answer.choices[0].message.reasoning_content, "Let me think.");
    assert.equal(answer.choices[0].message.content, "I thought about it.");
  },

  async a_tool_of_the_client() {
    const messages = user("what is the weather?");
    const call = { model: "plain", tools: [TOOL], chat_id: "node-tools" };
    const first = await completions.stream({ ...call, messages }).finalChatCompletion();
    const { message, finish_reason } = first.choices[0];
    assert.equal(finish_reason, "tool_calls");
    assert.equal(message.tool_calls.length, 1);
    assert.equal(message.tool_calls[0].function.arguments, '{"city":"Oslo"}');
    const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" };
    const answer = await completions.create({ ...call, messages: [...messages, message, result] });
    assert.equal(answer.choices[0].message.content, "It is sunny.");
  },

  async the_models_are_the_agents() {
    const models = await all(await client.models.list());
    assert.deepEqual(models.map((model) => model.id), ["plain"]);
  },

  async wrong_requests_are_refused() {
    const wrong = await refused(OpenAI.BadRequestError, { n: 2 });
    assert.deepEqual([wrong.code, wrong.param], ["invalid_argument", "n"]);
    const unknown = await refused(OpenAI.NotFoundError, { model: "nobody" });
    assert.equal(unknown.code, "not_found");
  },

  async a_wrong_key_is_refused() {
    const stranger = client.withOptions({ apiKey: "ambit_wrong" });
    const refusal = stranger.chat.completions.create(hello);
    await assert.rejects(refusal, OpenAI.AuthenticationError);
  },

  async a_busy_chat_is_refused() {
    const [stream, id] = await streamed({ messages: user("forever"), chat_id: "node-busy" });
    const error = await refused(OpenAI.ConflictError, { chat_id: "node-busy" });
    assert.equal(error.code, "chat_busy");
    await client.post(`/chat/requests/${id}/cancel`);
    await all(stream);
  },

  async a_failed_model_is_told() {
    const error = await refused(OpenAI.InternalServerError, { messages: user("fail") });
    assert.deepEqual([error.status, error.code], [502, "llm_error"]);
    const [stream] = await streamed({ messages: user("break off") });
    await assert.rejects(all(stream), (error) => error.code === "llm_error");
  },

  async leaving_does_not_stop_a_turn() {
    const [stream, id] = await streamed({ messages: user("slow") });
    for await (const _ of stream) {
      break;
    }
    const ended = await endOf(id);
    assert.equal(ended.status, "completed");
    const said = ended.response.completion.content;
    assert.equal(said, "one two three four five six seven eight nine ten");
  },

  async cancelling_stops_a_turn() {
    const [stream, id] = await streamed({ messages: user("forever") });
    await client.post(`/chat/requests/${id}/cancel`);
    const chunks = await all(stream);
    assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
    assert.equal((await turn(id)).status, "cancelled");
  },

  async a_repeated_request_is_one_turn() {
    const once = { headers: { "Idempotency-Key": "node-once" } };
    const request = { ...hello, chat_id: "node-once" };
    const first = await completions.create(request, once);
    const second = await completions.create(request, once);
    assert.deepEqual(second, first);
    await refused(OpenAI.ConflictError, { messages: user("something else") }, once);
  },

  async a_retry_after_a_time_out_joins_the_turn() {
    const chat = { chat_id: "node-retry" };
    const answer = await completions.create(
      { ...hello, ...chat, messages: user("slow") },
      { timeout: 800, maxRetries: 8, headers: { "Idempotency-Key": "node-retry" } },
    );
    assert(answer.choices[0].message.content.endsWith("ten"));
    const count = await completions.create({ ...hello, ...chat, messages: user("count") });
    assert.equal(count.choices[0].message.content, "4");
  },
};

(async () => {
  for (const [name, run] of Object.entries(CASES)) {
    try {
      await run();
      console.log("ok", name);
    } catch (error) {
      console.log("failed", name);
      console.log(error);
    }
  }
})();
