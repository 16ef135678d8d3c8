/** Speaks to the store of an Ambit server. */

import { StoreConflict, StoreError } from "./errors.js";

/** Keys of one request. */
const PAGE = 1000;
/** Pauses before a request is sent again, in milliseconds. */
const PAUSES = [100, 300, 1000, 3000];
/** Nothing of the request can have reached the server. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Reads a key. */
export const get = (key) => ({ op: "get", key });

/** Writes a key: `expect`, `ttl`. */
export const put = (key, value, conditions = {}) => ({ op: "put", key, value, ...conditions });

/** Deletes a key: `expect`. */
export const remove = (key, conditions = {}) => ({ op: "delete", key, ...conditions });

/** Lists keys: `limit`, `after`, `reverse`, `values`. Without a limit all of them are read. */
export const entries = (prefix, conditions = {}) => ({
  op: "list",
  prefix,
  limit: PAGE,
  ...conditions,
});

/** The keys of one space: the caller's own, or with `owner: "team"` those of the caller's team. */
export class StoreClient {
  /**
   * @param {object} [options]
   * @param {string} [options.url] The server's base URL.
   * @param {string} [options.token] A token or an API key.
   * @param {string} [options.space] The space.
   * @param {"user" | "team"} [options.owner] Whose keys they are.
   * @param {number} [options.timeout] Milliseconds that a request may take.
   */
  constructor({
    url = "http://127.0.0.1:8080/v1",
    token,
    space = "framework-js",
    owner = "user",
    timeout = 60_000,
  } = {}) {
    this.url = url.replace(/\/$/, "");
    this.token = token;
    this.space = space;
    this.owner = owner;
    this.timeout = timeout;
  }

  /** Reads keys, or writes them: all or none. */
  async batch(ops) {
    const writes = ops.some(({ op }) => op === "put" || op === "delete");
    return (await this.#send("batch", { ops }, writes)).results;
  }

  /** Reads any number of keys and whole lists; what does not fit into one answer is asked for in parts. */
  async read(ops) {
    const results = [];
    for (let start = 0; start < ops.length; start += PAGE) {
      results.push(...(await this.#readPart(ops.slice(start, start + PAGE))));
    }
    for (const [at, result] of results.entries()) {
      const op = ops[at];
      while (op.op === "list" && op.limit === PAGE && result.next !== null) {
        const [more] = await this.batch([{ ...op, after: result.next }]);
        result.items.push(...more.items);
        result.next = more.next;
      }
    }
    return results;
  }

  /** All items whose keys begin with this. */
  async readAll(prefix, conditions = {}) {
    const [found] = await this.read([entries(prefix, conditions)]);
    return found.items;
  }

  /** Finds items: `filter`, `query`, `limit`, `offset`. */
  async search(prefix, conditions = {}) {
    return (await this.#send("search", { prefix, ...conditions }, false)).items;
  }

  /** Deletes all keys with this prefix, in steps. */
  async deleteAll(prefix) {
    const [{ deleted }] = await this.batch([{ op: "delete_prefix", prefix }]);
    return deleted;
  }

  async #readPart(ops) {
    try {
      return await this.batch(ops);
    } catch (error) {
      if (!(error instanceof StoreError) || error.status !== 413 || ops.length === 1) throw error;
      const half = ops.length >> 1;
      return [
        ...(await this.#readPart(ops.slice(0, half))),
        ...(await this.#readPart(ops.slice(half))),
      ];
    }
  }

  async #send(path, body, writes) {
    const headers = { "content-type": "application/json" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    // One key for all tries, so that a batch whose answer was lost is not written twice.
    if (writes) headers["idempotency-key"] = crypto.randomUUID();
    const text = JSON.stringify({ space: this.space, owner: this.owner, ...body });
    for (const pause of [...PAUSES, null]) {
      const response = await this.#post(path, headers, text, pause === null);
      if (response && (response.status !== 503 || pause === null)) return content(response);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Nothing where the request was not sent and another try is left. */
  async #post(path, headers, body, isLast) {
    const signal = AbortSignal.timeout(this.timeout);
    try {
      return await fetch(`${this.url}/store/${path}`, { method: "POST", headers, body, signal });
    } catch (error) {
      if (isLast || !UNSENT.has(error?.cause?.code)) throw error;
      return undefined;
    }
  }
}

async function content(response) {
  if (response.ok) return response.json();
  const text = await response.text();
  let error = { message: text.slice(0, 200) };
  try {
    error = JSON.parse(text).error ?? error;
  } catch {
    // A proxy in between says it in words of its own.
  }
  const Kind = response.status === 409 ? StoreConflict : StoreError;
  throw new Kind(response.status, error.code ?? "unknown", error.message, error.details);
}
