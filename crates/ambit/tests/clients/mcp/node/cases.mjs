// The official packages for Node against a running server: `@modelcontextprotocol/sdk`, which speaks 2025-11-25, and
// `@modelcontextprotocol/client`, which speaks 2026-07-28. Run with the server's base URLs, each a node of it, an API key and the
// folder in which they are installed; prints `ok NAME` for each case that holds.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [bases, key, folder] = process.argv.slice(2);
const nodes = bases.split(",").map((base) => new URL(base));
const url = `${nodes[0]}/mcp`;
const { resolve } = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)));
const older = {
  ...(await load("@modelcontextprotocol/sdk/client/index.js")),
  ...(await load("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  ...(await load("@modelcontextprotocol/sdk/client/auth.js")),
};
const newer = await load("@modelcontextprotocol/client");
const headers = { authorization: `Bearer ${key}` };

/** Asks one node after the other. */
function next(address, init) {
  nodes.push(nodes.shift());
  const to = new URL(address);
  to.host = nodes[0].host;
  return fetch(to, init);
}

async function connected({ Client, StreamableHTTPClientTransport }) {
  const client = new Client({ name: "cases", version: "1" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch: next });
  await client.connect(transport);
  return client;
}

const ask = (client, values, options) =>
  client.callTool({ name: "agent_plain", arguments: values }, ...(options ?? []));

const CASES = {
  async version(client, era) {
    assert.equal(client.getServerVersion().name, "ambit");
    assert.equal(era.spoken(client), era.name);
  },
  async list(client) {
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    assert.deepEqual(names, names.toSorted());
    const plain = tools.find((tool) => tool.name === "agent_plain");
    assert.deepEqual([plain.title, plain.description], ["Plain", "Answers."]);
    assert.equal(client.getInstructions(), "Ask plain.");
  },
  async call(client) {
    const first = await ask(client, { message: "hi" });
    assert.equal(first.structuredContent.text, "echo: hi");
    const { chat_id } = first.structuredContent;
    const second = await ask(client, { message: "you", chat_id });
    assert.equal(second.structuredContent.text, "echo: you");
  },
  async failure(client) {
    const failed = await ask(client, { message: "fail" });
    assert.ok(failed.isError);
    assert.equal(failed.structuredContent.error.code, "llm_error");
    await assert.rejects(client.callTool({ name: "agent_nobody", arguments: {} }), { code: -32602 });
  },
  async progress(client, era) {
    const told = [];
    const onprogress = ({ progress }) => told.push(progress);
    const options = era.withSchema([{ onprogress }]);
    const answer = await ask(client, { message: "slow" }, options);
    assert.equal(answer.structuredContent.text, "one two three four five six");
    assert.deepEqual(told, [1, 2, 3]);
  },
  async cancel(client, era) {
    const chat_id = `forever-${era.name}`;
    const stop = new AbortController();
    const options = era.withSchema([{ signal: stop.signal }]);
    const call = ask(client, { message: "forever", chat_id }, options);
    const list = () => client.callTool({ name: "chat_list", arguments: { limit: 1 } });
    while ((await list()).structuredContent.data[0]?.chat_id !== chat_id);
    stop.abort();
    await assert.rejects(call);
    // It waits for the call's turn, which would take minutes.
    const answer = await next(new URL("agents/plain/chat/completions", url), {
      method: "POST",
      headers,
      body: JSON.stringify({ chat_id, on_busy: "queue", messages: [{ role: "user", content: "hi" }] }),
    });
    assert.equal(answer.status, 200);
  },
  async resource(client) {
    await ask(client, { message: "hi", chat_id: "readme" });
    const { resources } = await client.listResources();
    assert.equal(resources[0].uri, "ambit://chats/readme");
    const { contents } = await client.readResource({ uri: resources[0].uri });
    assert.match(contents[0].text, /^## user\n\nhi\n\n## assistant\n\n/);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates[0].uriTemplate, "ambit://chats/{chat_id}");
  },
  async unauthorized(_, { extractWWWAuthenticateParams, discoverOAuthProtectedResourceMetadata }) {
    const refused = await fetch(url, { method: "POST", body: "{}" });
    assert.equal(refused.status, 401);
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refused);
    assert.equal(scope, "mcp:use:own");
    const metadata = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
    assert.equal(metadata.resource, url);
    assert.deepEqual(metadata.authorization_servers, ["https://id.example"]);
  },
};

let isWhole = true;
const eras = [
  {
    name: "2025-11-25",
    ...older,
    withSchema: (options) => [undefined, ...options],
    spoken: (client) => client.transport.protocolVersion,
  },
  {
    name: "2026-07-28",
    ...newer,
    withSchema: (options) => options,
    spoken: (client) => client.getNegotiatedProtocolVersion(),
  },
];
for (const era of eras) {
  for (const [name, run] of Object.entries(CASES)) {
    const client = await connected(era);
    try {
      await run(client, era);
      console.log(`ok ${name} (${era.name})`);
    } catch (error) {
      isWhole = false;
      console.error(`failed ${name} (${era.name})`, error);
    } finally {
      await client.close();
    }
  }
}
process.exit(isWhole ? 0 : 1);
