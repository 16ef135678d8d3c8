// Recorded streams through the stream helpers of the official `openai` package, for chat completions and Responses: each takes every
// stream, and what it puts together of the pieces is what the last events say.
//
// Run with the folder of the records and the folder in which the package is installed; prints `ok NAME` for each one that holds.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const { takeAll } = require("../../recorded.cjs");

const [records, folder] = process.argv.slice(2);
const OpenAI = createRequire(`${folder}/`)("openai");

/** A client whose server answers with this stream. */
function clientOf(text) {
  const headers = { "content-type": "text/event-stream" };
  const answer = async () => new Response(text, { headers });
  return new OpenAI({ apiKey: "key", baseURL: "http://test", maxRetries: 0, fetch: answer });
}

/** The data of a stream's events. */
function events(text) {
  const data = text.split("\n").filter((line) => line.startsWith("data: {"));
  return data.map((line) => JSON.parse(line.slice("data: ".length)));
}

async function completion(text, expected) {
  const stream = clientOf(text).chat.completions.stream({ model: "m", messages: [] });
  if (expected.error) {
    const error = await stream.done().then(() => assert.fail("it does not fail"), (error) => error);
    assert(error instanceof OpenAI.APIError, `${error}`);
    assert.deepEqual({ ...error.error }, expected.error);
    return;
  }
  const { id, model, usage, choices: [got] } = await stream.finalChatCompletion();
  assert.deepEqual({ id, model, usage }, { id: expected.id, model: expected.model, usage: expected.usage });
  const [{ message, finish_reason }] = expected.choices;
  assert.equal(got.finish_reason, finish_reason);
  assert.deepEqual(got.message.tool_calls, message.tool_calls);
  const said = events(text).map((chunk) => chunk.choices[0]?.delta.content ?? "");
  assert.equal(got.message.content, said.join(""));
}

async function response(text, expected) {
  const stream = clientOf(text).responses.stream({ model: "m", input: "" });
  const pieces = {};
  for (const kind of ["output_text", "function_call_arguments"])
    stream.on(`response.${kind}.delta`, (event) => (pieces[event.item_id] = event.snapshot));
  const got = await stream.finalResponse();
  assert.deepEqual([got.id, got.status, got.usage], [expected.id, expected.status, expected.usage]);
  const items = got.output.filter((item) => ["message", "function_call"].includes(item.type));
  const whole = items.map((item) => [item.id, item.arguments ?? item.content.map((part) => part.text).join("")]);
  assert.deepEqual(pieces, Object.fromEntries(whole.filter(([, said]) => said !== "")));
}

takeAll(records, "standard", completion).then(() => takeAll(records, "responses", response));
