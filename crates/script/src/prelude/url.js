// URL and URLSearchParams. Parsing is the host's; here are the objects.

export function install(native) {
  const { parseUrl, changeUrl, parseQuery, writeQuery } = native;
  const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

  class URLSearchParams {
    #pairs = []; #changed;
    constructor(init = "", changed) {
      if (typeof init === "object" && init !== null) {
        const entries = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
        for (const pair of entries) {
          const both = [...pair];
          if (both.length !== 2) throw new TypeError("each pair must be a name and a value");
          this.#pairs.push([`${both[0]}`, `${both[1]}`]);
        }
      } else {
        this.#read(`${init}`);
      }
      if (changed?.[OWN]) this.#changed = changed[OWN];
    }
    #read(text) { this.#pairs = parseQuery(text.startsWith("?") ? text.slice(1) : text); }
    #write() { this.#changed?.(this.toString()); }
    static [READ](params, text) { params.#read(text); }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([`${name}`, `${value}`]); this.#write(); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(pair => pair[0] !== `${name}` || (value !== undefined && pair[1] !== `${value}`));
      this.#write();
    }
    get(name) { return this.#pairs.find(pair => pair[0] === `${name}`)?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter(pair => pair[0] === `${name}`).map(pair => pair[1]); }
    has(name, value) { return this.#pairs.some(pair => pair[0] === `${name}` && (value === undefined || pair[1] === `${value}`)); }
    set(name, value) {
      const at = this.#pairs.findIndex(pair => pair[0] === `${name}`);
      if (at < 0) { this.append(name, value); return; }
      this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== `${name}`);
      this.#pairs[at] = [`${name}`, `${value}`];
      this.#write();
    }
    sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#write(); }
    forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
    *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return writeQuery(this.#pairs); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }

  class URL {
    #parts; #params;
    constructor(input, base) {
      this.#parts = parseUrl(`${input}`, base === undefined ? null : `${base}`);
      if (!this.#parts) throw new TypeError(`Invalid URL: ${input}`);
    }
    static canParse(input, base) { return Boolean(parseUrl(`${input}`, base === undefined ? null : `${base}`)); }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    static #of(url, index) { return url.#parts[index]; }
    static #change(url, part, value) {
      const parts = changeUrl(url.#parts[0], part, value);
      if (parts) url.#parts = parts; else if (part === "href") throw new TypeError(`Invalid URL: ${value}`);
    }
    static {
      PARTS.forEach((part, index) => Object.defineProperty(URL.prototype, part, {
        configurable: true,
        enumerable: true,
        get() { return URL.#of(this, index); },
        set(value) {
          if (part === "origin") return;
          URL.#change(this, part, `${value}`);
          if ((part === "search" || part === "href") && this.#params) URLSearchParams[READ](this.#params, this.search);
        },
      }));
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.search, { [OWN]: text => URL.#change(this, "search", text) });
      return this.#params;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
  }
  return { URL, URLSearchParams };
}

// How the two classes know each other; no script can name these.
const OWN = Symbol("own");
const READ = Symbol("read");
