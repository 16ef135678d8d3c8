/** A store for LangGraph.js' long-term memory. */

import { BaseStore } from "@langchain/langgraph-checkpoint";
import { get, put, remove } from "./client.js";
import { escape, unescape } from "./keys.js";

/** What the keys of items begin with. */
const ITEMS = "i/";

const prefixOf = (namespace) => ITEMS + namespace.map((label) => `${escape(label)}/`).join("");

// Labels are never empty, so that no item is taken for a namespace.
const keyOf = (namespace, key) => `${prefixOf(namespace)}/${escape(key)}`;

function partsOf(key) {
  const end = key.lastIndexOf("//");
  const namespace = key.slice(ITEMS.length, end).split("/").map(unescape);
  return { namespace, key: unescape(key.slice(end + 2)) };
}

function itemOf({ namespace, key }, { value, created_at, updated_at, score }) {
  const item = {
    value,
    key,
    namespace,
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
  };
  return score === undefined ? item : { ...item, score };
}

/**
 * Keeps LangGraph's items in an Ambit server.
 *
 * Values are JSON. The reads of a `batch` see what was there before it, and its writes are one commit. `query` ranks by words (BM25):
 * there are no embeddings, and `index` has no effect.
 */
export class AmbitStore extends BaseStore {
  constructor(client) {
    super();
    this.client = client;
  }

  async batch(operations) {
    const results = new Array(operations.length).fill(null);
    const writes = new Map();
    const gets = [];
    for (const [at, op] of operations.entries()) {
      if ("namespacePrefix" in op) {
        results[at] = await this.#search(op);
      } else if ("matchConditions" in op || !("namespace" in op)) {
        results[at] = await this.#namespaces(op);
      } else if ("value" in op) {
        // Of two writes to one item the last one counts.
        const key = keyOf(op.namespace, op.key);
        writes.set(key, op.value === null ? remove(key) : put(key, op.value));
      } else {
        gets.push({ at, op });
      }
    }
    const found = await this.client.read(gets.map(({ op }) => get(keyOf(op.namespace, op.key))));
    for (const [number, { at, op }] of gets.entries()) {
      if (found[number]) results[at] = itemOf(op, found[number]);
    }
    if (writes.size > 0) await this.client.batch([...writes.values()]);
    return results;
  }

  async #search({ namespacePrefix, filter, query, limit = 10, offset = 0 }) {
    const conditions = { filter, query, limit, offset };
    const items = await this.client.search(prefixOf(namespacePrefix), conditions);
    return items.map((item) => itemOf(partsOf(item.key), item));
  }

  async #namespaces({ matchConditions = [], maxDepth, limit = 100, offset = 0 }) {
    const found = new Map();
    for (const { key } of await this.client.readAll(ITEMS)) {
      const { namespace } = partsOf(key);
      if (!matchConditions.every((condition) => matches(condition, namespace))) continue;
      const cut = maxDepth === undefined ? namespace : namespace.slice(0, maxDepth);
      found.set(JSON.stringify(cut), cut);
    }
    const sorted = [...found.keys()].sort().map((name) => found.get(name));
    return sorted.slice(offset, offset + limit);
  }
}

function matches({ matchType, path }, namespace) {
  if (path.length > namespace.length) return false;
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((wanted, at) => wanted === "*" || wanted === namespace[start + at]);
}
