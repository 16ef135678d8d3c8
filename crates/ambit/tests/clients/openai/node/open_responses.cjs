// What every server of Open Responses must do, in words of our own: its compliance suite is a web page and no package.
//
// Run with the server's base URL and an API key; prints `ok NAME` for each case that holds. Field for field the answers are held
// against the specification's schemas, in which a field may be null and is never absent.

const assert = require("node:assert/strict");

const [base, key] = process.argv.slice(2);

const text = (value) => assert.equal(typeof value, "string");
const number = (value) => assert.equal(typeof value, "number");
const flag = (value) => assert.equal(typeof value, "boolean");
const object = (value) => assert(value && typeof value === "object" && !Array.isArray(value));
const integer = (value) => assert(Number.isInteger(value), `${value}`);
const list = (of) => (value) => (assert(Array.isArray(value)), value.forEach(of));
const orNull = (of) => (value) => value === null || of(value);
const one = (...known) => (value) => assert(known.includes(value), `${value}`);

/** Every field is there, and of its kind. */
const fields = (schema) => (value) => {
  object(value);
  for (const [name, check] of Object.entries(schema)) {
    assert(name in value, `${name} is missing in ${JSON.stringify(value)}`);
    try {
      check(value[name]);
    } catch (error) {
      throw new Error(`${name}: ${error.message}`);
    }
  }
};

const STATUS = one("in_progress", "completed", "incomplete");
const output = fields({ type: one("output_text"), text, annotations: list(object), logprobs: list(object) });
const ITEMS = {
  message: fields({ id: text, status: STATUS, role: one("assistant"), content: list(output) }),
  reasoning: fields({ id: text, summary: list(fields({ type: one("summary_text"), text })) }),
  function_call: fields({ id: text, call_id: text, name: text, arguments: text, status: STATUS }),
};
const item = (value) => {
  assert(value.type in ITEMS, value.type);
  ITEMS[value.type](value);
};
const tool = fields({
  type: one("function"),
  name: text,
  description: orNull(text),
  parameters: orNull(object),
  strict: orNull(flag),
});
const usage = fields({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  input_tokens_details: fields({ cached_tokens: integer }),
  output_tokens_details: fields({ reasoning_tokens: integer }),
});
const response = fields({
  id: text,
  object: one("response"),
  created_at: integer,
  completed_at: orNull(integer),
  status: text,
  incomplete_details: orNull(fields({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: list(item),
  error: orNull(fields({ code: text, message: text })),
  tools: list(tool),
  tool_choice: (value) => (typeof value === "string" ? one("none", "auto", "required")(value) : object(value)),
  truncation: one("auto", "disabled"),
  parallel_tool_calls: flag,
  text: fields({ format: fields({ type: text }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: orNull(fields({ effort: orNull(text), summary: orNull(text) })),
  user: orNull(text),
  usage: orNull(usage),
  max_output_tokens: orNull(integer),
  max_tool_calls: orNull(integer),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: object,
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text),
});

const at = { item_id: text, output_index: integer };
const EVENTS = {
  "response.created": { response },
  "response.in_progress": { response },
  "response.completed": { response },
  "response.output_item.added": { output_index: integer, item },
  "response.output_item.done": { output_index: integer, item },
  "response.content_part.added": { ...at, content_index: integer, part: output },
  "response.content_part.done": { ...at, content_index: integer, part: output },
  "response.output_text.delta": { ...at, content_index: integer, delta: text, logprobs: list(object) },
  "response.output_text.done": { ...at, content_index: integer, text, logprobs: list(object) },
  "response.function_call_arguments.delta": { ...at, delta: text },
  "response.function_call_arguments.done": { ...at, arguments: text },
};

function post(body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return fetch(`${base}/responses`, { method: "POST", headers, body: JSON.stringify({ model: "helper", ...body }) });
}

/** The Response to a request. */
async function ask(body) {
  const answer = await post(body);
  assert.equal(answer.status, 200, await answer.clone().text());
  const given = await answer.json();
  response(given);
  return given;
}

/** The events of a stream, and the Response at its end. */
async function follow(body) {
  const answer = await post({ ...body, stream: true });
  assert.match(answer.headers.get("content-type"), /^text\/event-stream/);
  const frames = (await answer.text()).split("\n\n").filter((frame) => frame && !frame.startsWith(":"));
  assert.equal(frames.pop(), "data: [DONE]");
  const events = frames.map((frame, number) => {
    const [name, data] = frame.split("\n");
    const event = JSON.parse(data.slice("data: ".length));
    assert.equal(name, `event: ${event.type}`);
    assert.equal(event.sequence_number, number);
    assert(event.type in EVENTS, event.type);
    fields(EVENTS[event.type])(event);
    return event;
  });
  return [events.map((event) => event.type), events.at(-1).response];
}

const said = (role, content) => ({ type: "message", role, content });
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const cases = {
  async a_text() {
    const given = await ask({ input: [said("user", "hello")] });
    assert.equal(given.status, "completed");
    assert.equal(given.output[0].content[0].text, "echo: hello");
  },

  async a_stream() {
    const [types, given] = await follow({ input: [said("user", "hello")] });
    assert.deepEqual(types.slice(0, 2), ["response.created", "response.in_progress"]);
    assert(types.includes("response.output_text.delta"));
    assert.equal(given.status, "completed");
    assert.equal(given.output[0].content[0].text, "echo: hello");
  },

  async a_system_prompt() {
    const given = await ask({ input: [said("system", "Speak like a pirate."), said("user", "show")] });
    assert.equal(given.status, "completed");
    assert.match(given.output[0].content[0].text, /Speak like a pirate\./);
  },

  async a_call_of_a_tool() {
    const given = await ask({ input: [said("user", "weather?")], tools: [WEATHER] });
    const call = given.output.find((made) => made.type === "function_call");
    assert.equal(call.name, "get_weather");
    assert.deepEqual(JSON.parse(call.arguments), { city: "Oslo" });
  },

  async a_call_of_a_tool_in_a_stream() {
    const [types, given] = await follow({ input: [said("user", "weather?")], tools: [WEATHER] });
    for (const type of ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"])
      assert(types.includes(`response.${type}`), type);
    assert.equal(given.output.at(-1).type, "function_call");
  },

  async a_picture() {
    const picture = { type: "input_image", image_url: `data:image/png;base64,${DOT}` };
    const given = await ask({ input: [said("user", [{ type: "input_text", text: "show" }, picture])] });
    assert.equal(given.status, "completed");
    assert(given.output[0].content[0].text.includes(DOT));
  },

  async several_turns() {
    const input = [said("user", "My name is Ann."), said("assistant", "Hello Ann!"), said("user", "show")];
    const given = await ask({ input });
    assert.equal(given.status, "completed");
    for (const known of ["My name is Ann.", "Hello Ann!"]) assert(given.output[0].content[0].text.includes(known));
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
