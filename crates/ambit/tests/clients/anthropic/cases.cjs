// The official `@anthropic-ai/sdk` package for Node against a running server: one function is one case.
//
// Run with the server's address, an API key and the folder in which the package is installed; prints `ok NAME` for each case
// that holds.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");

const [base, key, folder] = process.argv.slice(2);
const Anthropic = createRequire(`${folder}/`)("@anthropic-ai/sdk");
const client = new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0, timeout: 60_000 });
const messages = client.messages;

const user = (content) => ({ role: "user", content });
const asked = (text, more) => ({ model: "plain", max_tokens: 100, messages: [user(text)], ...more });
const TOOL = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

/** The kind of the error with which a request is refused. */
async function refused(kind, request) {
  const error = await messages.create({ ...asked("hello"), ...request }).then(
    () => assert.fail(`${kind.name} was not thrown`),
    (error) => error,
  );
  assert(error instanceof kind, `${error}`);
  assert.equal(error.error.type, "error");
  assert.equal(error.requestID, error.error.request_id);
  return error.type;
}

const CASES = {
  async a_whole_answer() {
    const answer = await messages.create(asked("hello"));
    assert.deepEqual(answer.content, [{ type: "text", text: "echo: hello" }]);
    assert.equal(answer.model, "plain");
    assert.equal(answer.stop_reason, "end_turn");
    assert.equal(answer.usage.input_tokens, 10);
    assert.equal(answer.usage.output_tokens, 2);
    assert(answer._request_id && answer.id.endsWith(answer._request_id));
  },

  async the_whole_conversation_is_the_clients() {
    const said = [user("hello"), { role: "assistant", content: "hi" }, user("count")];
    const answer = await messages.create(asked("", { messages: said, system: "Be brief." }));
    assert.equal(answer.content[0].text, "5");
  },

  async a_stream_of_events() {
    const kinds = [];
    for await (const event of await messages.create(asked("hello", { stream: true }))) {
      kinds.push(event.type);
    }
    assert.deepEqual(kinds.slice(0, 2), ["message_start", "content_block_start"]);
    assert.deepEqual(kinds.slice(-3), ["content_block_stop", "message_delta", "message_stop"]);
  },

  async a_stream_with_thinking_and_a_tool() {
    let [thought, said] = ["", ""];
    const stream = messages.stream(asked("weather", { tools: [TOOL] }));
    stream.on("thinking", (delta) => (thought += delta)).on("text", (delta) => (said += delta));
    const answer = await stream.finalMessage();
    assert.equal(thought, "I must look.");
    assert.equal(said, "Let me look.");
    const kinds = answer.content.map((block) => block.type);
    assert.deepEqual(kinds, ["thinking", "text", "tool_use"]);
    assert.equal(answer.stop_reason, "tool_use");
    const call = answer.content[2];
    assert.deepEqual(call.input, { city: "Oslo" });
    const result = { type: "tool_result", tool_use_id: call.id, content: "sunny" };
    const whole = [user("weather"), { role: "assistant", content: answer.content }, user([result])];
    const next = messages.stream(asked("", { messages: whole, tools: [TOOL] }));
    assert.equal(await next.finalText(), "It is sunny.");
  },

  async tokens_are_counted() {
    const hello = { model: "plain", messages: [user("hello")] };
    const few = await messages.countTokens(hello);
    const more = await messages.countTokens({ ...hello, tools: [TOOL], system: "Be brief." });
    assert(0 < few.input_tokens && few.input_tokens < more.input_tokens);
  },

  async errors_are_typed() {
    const own = [{ type: "bash_20250124", name: "bash" }];
    assert.equal(await refused(Anthropic.NotFoundError, { model: "nobody" }), "not_found_error");
    assert.equal(await refused(Anthropic.BadRequestError, { messages: [] }), "invalid_request_error");
    assert.equal(await refused(Anthropic.UnprocessableEntityError, { tools: own }), "invalid_request_error");
    assert.equal(await refused(Anthropic.RateLimitError, asked("busy")), "rate_limit_error");
    assert.equal(await refused(Anthropic.InternalServerError, asked("fail")), "api_error");
  },

  async a_wrong_key() {
    const other = new Anthropic({ baseURL: base, apiKey: "wrong", maxRetries: 0 });
    await assert.rejects(other.messages.create(asked("hello")), Anthropic.AuthenticationError);
  },

  async a_bearer_token() {
    const other = new Anthropic({ baseURL: base, apiKey: null, authToken: key, maxRetries: 0 });
    const answer = await other.messages.create(asked("hello"));
    assert.equal(answer.content[0].text, "echo: hello");
  },

  async a_stream_that_fails_at_once() {
    const request = messages.create(asked("fail", { stream: true }));
    await assert.rejects(request, Anthropic.InternalServerError);
  },

  async a_stream_that_breaks_off() {
    const read = async () => {
      for await (const _ of await messages.create(asked("break off", { stream: true })));
    };
    await assert.rejects(read(), (error) => error.type === "api_error");
  },

  async a_client_that_leaves() {
    const stream = await messages.create(asked("break off", { stream: true }));
    for await (const _ of stream) {
      break;
    }
    assert(stream.controller.signal.aborted);
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
