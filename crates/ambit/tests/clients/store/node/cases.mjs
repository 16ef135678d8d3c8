// LangGraph.js over `@ambit/store`: one function is one case. Run with an API key and the URLs of the server's nodes; prints `ok NAME`
// for each case that holds.

import assert from "node:assert/strict";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import {
  AmbitSaver,
  AmbitStore,
  CheckpointConflict,
  StoreClient,
  StoreConflict,
  StoreError,
} from "@ambit/store/langgraph";

const [token, ...nodes] = process.argv.slice(2);
const to = { configurable: { thread_id: "t" } };

function next() {
  nodes.push(nodes.shift());
  return nodes[0];
}

/** A client that asks one node after the other. */
function client() {
  const space = `t${crypto.randomUUID().replaceAll("-", "").slice(0, 30)}`;
  return Object.defineProperty(new StoreClient({ token, space }), "url", { get: next });
}

function graphOf(checkpointer, node) {
  const words = Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });
  const State = Annotation.Root({ words });
  return new StateGraph(State)
    .addNode("agent", node ?? (({ words: said }) => ({ words: [`echo ${said.at(-1)}`] })))
    .addEdge(START, "agent")
    .addEdge("agent", END)
    .compile({ checkpointer });
}

async function say(graph, word, config = to) {
  return (await graph.invoke({ words: [word] }, config)).words;
}

const cases = {
  async "a conversation goes on with another saver"() {
    const saver = new AmbitSaver(client());
    assert.deepEqual(await say(graphOf(saver), "a"), ["a", "echo a"]);
    const again = graphOf(new AmbitSaver(saver.client));
    assert.deepEqual(await say(again, "b"), ["a", "echo a", "b", "echo b"]);
  },

  async "new input at an old checkpoint is refused unless it is a fork"() {
    const graph = graphOf(new AmbitSaver(client()));
    await say(graph, "a");
    const { config: old } = await graph.getState(to);
    await say(graph, "b");
    await assert.rejects(say(graph, "c", old), CheckpointConflict);
    assert.deepEqual((await graph.getState(to)).values.words, ["a", "echo a", "b", "echo b"]);
    const fork = { configurable: { ...old.configurable, ambit_fork: true } };
    assert.deepEqual(await say(graph, "c", fork), ["a", "echo a", "c", "echo c"]);
    assert.deepEqual((await say(graph, "d")).slice(-2), ["d", "echo d"]);
  },

  async "updates fork freely"() {
    const graph = graphOf(new AmbitSaver(client()));
    await say(graph, "a");
    const { config: old } = await graph.getState(to);
    await say(graph, "b");
    await graph.updateState(old, { words: ["x"] }, "agent");
    await graph.updateState(old, { words: ["y"] }, "agent");
    assert.deepEqual(await say(graph, "z"), ["a", "echo a", "y", "z", "echo z"]);
  },

  async "of 16 runs on one thread each is stored or refused"() {
    const graph = graphOf(new AmbitSaver(client()));
    const runs = Array.from({ length: 16 }, (_, at) => say(graph, `w${at}`));
    const ended = await Promise.allSettled(runs);
    const refused = ended.filter(({ status }) => status === "rejected");
    for (const { reason } of refused) assert.ok(reason instanceof CheckpointConflict, reason);
    const { words } = (await graph.getState(to)).values;
    assert.ok(ended.length > refused.length);
    for (const [at, { status }] of ended.entries()) {
      if (status !== "fulfilled") continue;
      assert.equal(words.filter((word) => word === `w${at}` || word === `echo w${at}`).length, 2);
    }
  },

  async "a deleted thread leaves nothing"() {
    const saver = new AmbitSaver(client());
    await say(graphOf(saver), "a");
    await saver.deleteThread("t");
    assert.deepEqual(await saver.client.readAll(""), []);
  },

  async "items of the store come back"() {
    const store = new AmbitStore(client());
    await store.put(["a", "b"], "k/1", { text: "long walks", stars: 3 });
    await store.put(["ab"], "k", { text: "walks, walks", stars: 5 });
    const found = await store.get(["a", "b"], "k/1");
    assert.deepEqual([found.value, found.key, found.namespace], [{ text: "long walks", stars: 3 }, "k/1", ["a", "b"]]);
    assert.ok(found.createdAt instanceof Date);
    const keys = async (prefix, options) => (await store.search(prefix, options)).map(({ key }) => key);
    assert.deepEqual(await keys(["a"]), ["k/1"]);
    assert.deepEqual(await keys([], { query: "walks" }), ["k", "k/1"]);
    assert.deepEqual(await keys([], { filter: { stars: { $gt: 3 } } }), ["k"]);
    assert.deepEqual(await store.listNamespaces({ prefix: ["a"] }), [["a", "b"]]);
    await store.delete(["ab"], "k");
    assert.equal(await store.get(["ab"], "k"), null);
    await assert.rejects(keys([], { filter: { stars: { $in: [1] } } }), StoreError);
  },

  async "the writes of a batch are one commit"() {
    const store = new AmbitStore(client());
    const large = { namespace: ["n"], key: "b", value: { v: "x".repeat(17 << 20) } };
    const small = { namespace: ["n"], key: "a", value: { v: 1 } };
    await assert.rejects(store.batch([small, large]), StoreError);
    assert.equal(await store.get(["n"], "a"), null);
  },

  async "a conflict says what is there"() {
    const keys = client();
    const [{ version }] = await keys.batch([{ op: "put", key: "a", value: 1 }]);
    const late = keys.batch([{ op: "put", key: "a", value: 2, expect: 0 }]);
    await assert.rejects(late, (error) => {
      assert.ok(error instanceof StoreConflict);
      assert.deepEqual(error.details, { key: "a", version });
      return true;
    });
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
