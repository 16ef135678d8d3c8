// Recorded streams through the stream helper of the official `@anthropic-ai/sdk`: it takes every stream, and what it puts together
// of the pieces is what they say one by one.
//
// Run with the folder of the records and the folder in which the package is installed; prints `ok NAME` for each one that holds.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const { takeAll } = require("../recorded.cjs");

const [records, folder] = process.argv.slice(2);
const Anthropic = createRequire(`${folder}/`)("@anthropic-ai/sdk");

/** The blocks of a stream's events, without what is not in pieces. */
function blocks(text) {
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  const found = [];
  for (const event of data.map((line) => JSON.parse(line.slice("data: ".length)))) {
    if (event.type === "content_block_start") found[event.index] = { type: event.content_block.type, said: "" };
    if (event.type === "content_block_delta" && event.delta.type !== "signature_delta") {
      const { text, thinking, partial_json } = event.delta;
      found[event.index].said += text ?? thinking ?? partial_json;
    }
  }
  return found;
}

async function take(text, expected) {
  const headers = { "content-type": "text/event-stream" };
  const answer = async () => new Response(text, { headers });
  const client = new Anthropic({ apiKey: "key", baseURL: "http://test", maxRetries: 0, fetch: answer });
  const stream = client.messages.stream({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "hello" }] });
  if (expected.type === "error") {
    const error = await stream.done().then(() => assert.fail("it does not fail"), (error) => error);
    assert(error instanceof Anthropic.APIError, `${error}`);
    assert.deepEqual(error.error, expected);
    return;
  }
  const { content, parsed_output, stop_details, ...got } = await stream.finalMessage();
  const { content: _, ...rest } = expected;
  assert.deepEqual(got, rest);
  const kept = content.map(({ type, text, thinking, input }) => ({ type, said: text ?? thinking ?? input }));
  const said = blocks(text).map(({ type, said }) => ({ type, said: type === "tool_use" ? JSON.parse(said || "{}") : said }));
  assert.deepEqual(kept, said);
}

takeAll(records, "messages", take);
