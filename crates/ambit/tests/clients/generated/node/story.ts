// A whole story with `openapi-fetch` and the types that `openapi-typescript` makes of the server's document: from signing in to
// leaving nothing.
//
// Run with the server's address and an API key; prints `ok story` at the end.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./ambit.js";

type Chunk = components["schemas"]["CompletionChunk"];

const [baseUrl, key] = process.argv.slice(2);
const clientOf = (token = "") =>
  createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const client = clientOf(key);

/** What a request has given that must succeed. */
function given<T>(result: { data?: T; error?: unknown }): T {
  assert.equal(result.error, undefined);
  assert(result.data !== undefined);
  return result.data;
}

const session = given(await client.GET("/v1/session"));
assert.equal(session.user_id, "ann");
const refused = await clientOf("nobody").GET("/v1/session");
assert.equal(refused.response.status, 401);
assert.equal(refused.response.headers.get("www-authenticate"), "Bearer");
assert.equal(refused.error?.error.code, "unauthenticated");
const models = given(await client.GET("/v1/models"));
assert.deepEqual(models.data.map((model) => model.id), ["plain"]);

const body = { model: "plain", chat_id: "story", messages: [{ role: "user", content: "hello" }] };
const asked = await client.POST("/v1/chat/completions", { body });
// The body may have any of the formats that `accept` chooses.
const answer = given(asked) as components["schemas"]["Completion"];
assert.equal(answer.object, "chat.completion");
assert.equal(answer.choices[0]?.message.content, "echo: hello");
assert.equal(answer.usage?.total_tokens, 12);
assert.equal(answer.ambit.chat_id, "story");
assert.equal(asked.response.headers.get("x-ambit-chat"), "story");
const request_id = answer.ambit.request_id;

const streamed = await client.POST("/v1/chat/completions", {
  body: { ...body, stream: true, messages: [{ role: "user", content: "count" }] },
  parseAs: "text",
});
const events = String(given(streamed)).matchAll(/^data: (\{.*)$/gm);
const chunks = [...events].map(([, data]) => JSON.parse(data ?? "") as Chunk);
const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "");
assert.equal(text.join(""), "4");

const chats = given(await client.GET("/v1/chat/sessions"));
assert.deepEqual(chats.data.map((chat) => chat.chat_id), ["story"]);
const path = { chat_id: "story" };
const messages = given(await client.GET("/v1/chat/sessions/{chat_id}/messages", { params: { path } }));
assert.deepEqual(messages.items.map((message) => message.role), ["user", "assistant", "user", "assistant"]);
assert.equal(messages.items[1]?.props["content"], "echo: hello");

const traces = given(await client.GET("/v1/trace/traces", { params: { query: { request_id } } }));
assert.deepEqual(traces.data.map((trace) => trace.status), ["completed"]);
const id = traces.data[0]?.trace_id ?? "";
const nodes = given(await client.GET("/v1/trace/traces/{id}/nodes", { params: { path: { id } } }));
const called = nodes.data.flatMap((node) => (node.facts?.of === "model" ? [node.facts.model] : []));
assert.deepEqual(called, ["scripted-1"]);

const own = { params: { path: { space: "user", key: "taste" } } };
const kept = await client.PUT("/v1/memory/{space}/keys/{key}", { ...own, body: { value: { likes: "tea" }, ttl: "5m" } });
const found = given(await client.GET("/v1/memory/{space}/keys/{key}", own));
assert.deepEqual(found.value, { likes: "tea" });
assert.equal(kept.response.headers.get("etag"), `"${found.version}"`);
const late = { value: { likes: "coffee" }, expect: found.version + 1 };
const conflict = await client.PUT("/v1/memory/{space}/keys/{key}", { ...own, body: late });
assert.equal(conflict.error?.error.code, "conflict");

const usage = given(await client.GET("/v1/usage", { params: { query: { agent: "plain" } } }));
assert(typeof usage === "object" && "total" in usage);
assert.equal(usage.total?.total_tokens, 24);

assert.equal((await client.DELETE("/v1/memory/{space}/keys/{key}", own)).response.status, 204);
assert.equal((await client.GET("/v1/memory/{space}/keys/{key}", own)).error?.error.code, "not_found");
assert.equal((await client.DELETE("/v1/chat/sessions/{chat_id}", { params: { path } })).response.status, 204);
const gone = await client.GET("/v1/chat/sessions/{chat_id}", { params: { path } });
assert.equal(gone.error?.error.code, "not_found");
console.log("ok story");
