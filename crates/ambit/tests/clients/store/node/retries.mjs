// When a client of the store sends a request again: only where nothing of it can have been done. One function is one case; prints
// `ok NAME` for each case that holds.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { StoreClient, StoreError } from "@ambit/store";

const WRITE = [{ op: "put", key: "k", value: 1 }];
const HANGS_UP = null;

/** A server that gives these answers one after the other, and the idempotency keys of what it was asked. */
async function stub(...answers) {
  const keys = [];
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    const status = answers.shift();
    if (status === HANGS_UP) {
      request.socket.destroy();
      return;
    }
    const refused = { error: { code: "unavailable", message: "not now" } };
    response.writeHead(status, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify(status === 200 ? { results: [{ version: 1 }] } : refused));
  });
  server.unref();
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { keys, url: `http://127.0.0.1:${server.address().port}` };
}

const cases = {
  async "what is refused for now is sent again under one key"() {
    const { url, keys } = await stub(503, 503, 200, 200);
    const client = new StoreClient({ url });
    assert.deepEqual(await client.batch(WRITE), [{ version: 1 }]);
    await client.batch(WRITE);
    const [first, second, third, other] = keys;
    assert.ok(first && other && other !== first);
    assert.deepEqual([second, third], [first, first]);
  },

  async "what may have been done is not sent again"() {
    for (const answer of [409, 429, 500, 502, HANGS_UP]) {
      const { url, keys } = await stub(answer, 200);
      const kind = answer === HANGS_UP ? TypeError : StoreError;
      await assert.rejects(new StoreClient({ url }).batch(WRITE), kind);
      assert.equal(keys.length, 1, `${answer}`);
    }
  },

  async "what has reached nobody is sent again"() {
    const there = await stub(200);
    // Nobody else can be given this port as long as the server is there.
    const urls = [there.url.replace("127.0.0.1", "127.0.0.2"), there.url];
    const client = Object.defineProperty(new StoreClient(), "url", { get: () => urls.shift() });
    assert.deepEqual(await client.batch(WRITE), [{ version: 1 }]);
    assert.equal(there.keys.length, 1);
  },
};

for (const [name, body] of Object.entries(cases)) {
  try {
    await body();
    console.log("ok", name);
  } catch (error) {
    console.log("failed", name, error);
  }
}
