// CopilotKit's own client, which a page has below its components, with the agents that the page for clients shows: one function is one
// case.
//
// Run with the server's base URL, an API key, the folder in which the packages are installed and the program of the page; prints
// `ok NAME` for each case that holds.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [base, key, folder, program] = process.argv.slice(2);
const { CopilotKitCore } = createRequire(`${folder}/`)("@copilotkit/core");
const { z } = createRequire(`${folder}/`)("zod");
const { agents } = await import(pathToFileURL(program));

const CITY = z.object({ city: z.string() });
const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));
console.error = (...words) => warnings.push(words.join(" "));

/** A page of its own, with a thread of its own, that keeps what it is told of failures. */
function open(headers = {}) {
  const agent = agents.default.clone();
  agent.threadId = randomUUID();
  agent.headers = { ...agent.headers, ...headers };
  const core = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent } });
  const page = { core, agent: core.getAgent("default"), failures: [] };
  core.subscribe({ onError: ({ code }) => void page.failures.push(code) });
  return page;
}

/** What comes of a message. */
async function say({ core, agent }, content) {
  agent.addMessage({ id: randomUUID(), role: "user", content });
  const { newMessages } = await core.runAgent({ agent });
  return newMessages.map((message) => [message.role, message.content]);
}

const CASES = {
  async a_message_is_answered() {
    const page = open();
    assert.deepEqual(await say(page, "hello"), [["assistant", "echo: hello"]]);
    assert.deepEqual([page.failures, warnings], [[], []]);
  },

  async a_thread_is_a_chat() {
    const page = open();
    await say(page, "hello");
    assert.deepEqual(await say(page, "count"), [["assistant", "4"]]);
    const headers = { authorization: `Bearer ${key}` };
    const listed = await fetch(`${base}/chat/sessions/${page.agent.threadId}/messages`, { headers });
    const { items } = await listed.json();
    assert.deepEqual(items.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
    assert.deepEqual([page.failures, warnings], [[], []]);
  },

  async thoughts_are_messages_of_their_own() {
    const page = open();
    const expected = [["reasoning", "Let me think."], ["assistant", "I thought about it."]];
    assert.deepEqual(await say(page, "think"), expected);
    assert.deepEqual([page.failures, warnings], [[], []]);
  },

  async a_tool_of_the_page_is_called_and_answered() {
    const page = open();
    const calls = [];
    const handler = async (given) => {
      calls.push(given);
      return "sunny";
    };
    page.core.addTool({ name: "get_weather", description: "The weather", parameters: CITY, handler });
    assert.deepEqual(await say(page, "what is the weather?"), [["assistant", "It is sunny."]]);
    assert.deepEqual(calls, [{ city: "Oslo" }]);
    assert.deepEqual([page.failures, warnings], [[], []]);
  },

  async a_stopped_run_is_no_failure() {
    const page = open();
    const said = say(page, "forever");
    await new Promise((begun) => page.agent.subscribe({ onTextMessageContentEvent: () => void begun() }));
    page.core.stopAgent({ agent: page.agent });
    await said;
    assert.deepEqual(await say(page, "hello"), [["assistant", "echo: hello"]]);
    assert.deepEqual([page.failures, warnings], [[], []]);
  },

  async a_refusal_is_told() {
    const page = open({ authorization: "Bearer wrong" });
    assert.deepEqual(await say(page, "hello"), []);
    assert.deepEqual(page.failures, ["agent_run_failed_event", "agent_run_failed"]);
    assert.match(warnings.join(), /401/);
  },
};

for (const [name, run] of Object.entries(CASES)) {
  warnings.length = 0;
  try {
    await run();
    console.log("ok", name);
  } catch (error) {
    console.log("failed", name, error);
  }
}
