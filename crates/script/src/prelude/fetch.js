// `fetch` and its objects. The request itself is a host call; bodies cross the border as text or base64.

export function install({ begin, cancel, encode }) {
  const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  const field = name => {
    const text = `${name}`;
    if (!NAME.test(text)) throw new TypeError(`invalid header name "${text}"`);
    return text.toLowerCase();
  };
  const content = value => {
    const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[\0\r\n]/.test(text)) throw new TypeError("invalid header value");
    return text;
  };

  class Headers {
    #all = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    append(name, value) {
      const key = field(name);
      this.#all.set(key, [...(this.#all.get(key) ?? []), content(value)]);
    }
    set(name, value) { this.#all.set(field(name), [content(value)]); }
    get(name) { return this.#all.get(field(name))?.join(", ") ?? null; }
    getSetCookie() { return [...(this.#all.get("set-cookie") ?? [])]; }
    has(name) { return this.#all.has(field(name)); }
    delete(name) { this.#all.delete(field(name)); }
    forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
    *entries() {
      for (const name of [...this.#all.keys()].sort()) {
        const values = this.#all.get(name);
        if (name === "set-cookie") for (const value of values) yield [name, value]; else yield [name, values.join(", ")];
      }
    }
    *keys() { for (const [name] of this) yield name; }
    *values() { for (const [, value] of this) yield value; }
    [Symbol.iterator]() { return this.entries(); }
  }

  const aborted = () => new DOMException("The operation was aborted", "AbortError");
  let abort;
  class AbortSignal {
    #aborted = false; #reason; #listeners = new Set();
    onabort = null;
    static { abort = (signal, reason) => signal.#end(reason); }
    static abort(reason) { const signal = new AbortSignal(); abort(signal, reason); return signal; }
    static timeout(wait) {
      const signal = new AbortSignal();
      setTimeout(() => abort(signal, new DOMException("The operation timed out", "TimeoutError")), wait);
      return signal;
    }
    static any(signals) {
      const made = new AbortSignal();
      for (const signal of signals) {
        if (signal.aborted) { abort(made, signal.reason); break; }
        signal.addEventListener("abort", () => abort(made, signal.reason));
      }
      return made;
    }
    #end(reason = aborted()) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason;
      const event = { type: "abort", target: this };
      this.onabort?.(event);
      for (const listener of [...this.#listeners]) listener(event);
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    addEventListener(type, listener) { if (type === "abort" && typeof listener === "function") this.#listeners.add(listener); }
    removeEventListener(type, listener) { if (type === "abort") this.#listeners.delete(listener); }
  }
  class AbortController {
    #signal = new AbortSignal();
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
  }

  const binary = text => Uint8Array.from(atob(text), character => character.charCodeAt(0));
  const base64 = bytes => {
    const parts = [];
    for (let i = 0; i < bytes.length; i += 4096) parts.push(String.fromCharCode.apply(null, bytes.subarray(i, i + 4096)));
    return btoa(parts.join(""));
  };
  // A body: what it is as text or bytes, and the type that goes with it.
  const bodyOf = value => {
    if (value === undefined || value === null) return { value: null, type: null };
    if (value instanceof ArrayBuffer) return { value: new Uint8Array(value.slice(0)), type: null };
    if (ArrayBuffer.isView(value)) return { value: new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice(), type: null };
    if (value instanceof URLSearchParams) return { value: `${value}`, type: "application/x-www-form-urlencoded;charset=UTF-8" };
    return { value: `${value}`, type: "text/plain;charset=UTF-8" };
  };

  class Body {
    #value; #used = false;
    constructor(value) { this.#value = value; }
    static peek(body) { return body.#value; }
    get bodyUsed() { return this.#used; }
    #take() {
      if (this.#used) throw new TypeError("the body has been read already");
      this.#used = this.#value !== null;
      return this.#value;
    }
    async bytes() { const value = this.#take(); return typeof value === "string" ? encode(value) : value ?? new Uint8Array(0); }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() { const value = this.#take(); return typeof value === "string" ? value : new TextDecoder().decode(value ?? undefined); }
    async json() { return JSON.parse(await this.text()); }
  }
  const headersFor = (init, type) => {
    const headers = new Headers(init);
    if (type && !headers.has("content-type")) headers.set("content-type", type);
    return headers;
  };

  class Request extends Body {
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const body = init.body === undefined && from ? { value: Body.peek(from), type: null } : bodyOf(init.body);
      super(body.value);
      this.url = new URL(from ? from.url : `${input}`).href;
      this.method = `${init.method ?? from?.method ?? "GET"}`.toUpperCase();
      if (body.value !== null && (this.method === "GET" || this.method === "HEAD")) throw new TypeError(`a ${this.method} request has no body`);
      this.headers = headersFor(init.headers ?? from?.headers, body.type);
      this.signal = init.signal ?? from?.signal ?? new AbortSignal();
      this.redirect = init.redirect ?? from?.redirect ?? "follow";
    }
    clone() { return new Request(this); }
  }

  class Response extends Body {
    constructor(value, init = {}) {
      const body = bodyOf(value);
      super(body.value);
      this.status = init.status ?? 200;
      if (!(this.status >= 200 && this.status <= 599)) throw new RangeError(`invalid status ${this.status}`);
      this.statusText = `${init.statusText ?? ""}`;
      this.headers = headersFor(init.headers, body.type);
      this.url = "";
      this.redirected = false;
      this.type = "default";
    }
    static json(value, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(value), { ...init, headers });
    }
    get ok() { return this.status >= 200 && this.status <= 299; }
    clone() { return Object.assign(new Response(Body.peek(this), this), { url: this.url, redirected: this.redirected, type: this.type }); }
  }

  async function fetch(input, init) {
    const request = new Request(input, init), { signal } = request;
    signal.throwIfAborted();
    const body = Body.peek(request), text = body === null || typeof body === "string";
    const { number, answer } = begin({
      url: request.url, method: request.method, headers: [...request.headers], redirect: request.redirect,
      body: text ? body : base64(body), encoding: text ? "text" : "base64",
    });
    let stop;
    const ended = new Promise((_, reject) => {
      stop = () => { cancel(number); reject(signal.reason); };
      signal.addEventListener("abort", stop);
    });
    try {
      const reply = await Promise.race([answer, ended]);
      const empty = [204, 205, 304].includes(reply.status);
      const made = new Response(empty ? null : reply.encoding === "base64" ? binary(reply.body) : reply.body, reply);
      if (!(reply.headers ?? []).some(([name]) => name.toLowerCase() === "content-type")) made.headers.delete("content-type");
      return Object.assign(made, { url: reply.url ?? request.url, redirected: Boolean(reply.redirected), type: "basic" });
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
  return { fetch, Headers, Request, Response, AbortController, AbortSignal };
}
