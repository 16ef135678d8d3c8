// Web globals that most scripts never touch: text coding, base64, copies and random ids.

export function install(native) {
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const problem = (message, name) => new DOMException(message, name);

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return native.encode(`${text}`); }
    encodeInto(text, target) {
      let read = 0, written = 0;
      for (const character of `${text}`) {
        const bytes = native.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  const bytesOf = input => {
    if (input === undefined) return new Uint8Array(0);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (input instanceof ArrayBuffer) return new Uint8Array(input);
    throw new TypeError("decode needs an ArrayBuffer or a view of one");
  };
  // By the Encoding standard: a sequence that breaks off becomes one U+FFFD, and what broke it is looked at again.
  const decode = (bytes, fatal, state, last) => {
    const parts = [];
    let units = [], { code, needed, low, high } = state;
    const put = value => {
      if (value > 0xffff) units.push(0xd800 + ((value - 0x10000) >> 10), 0xdc00 + (value & 0x3ff)); else units.push(value);
      if (units.length >= 4096) { parts.push(String.fromCharCode.apply(null, units)); units = []; }
    };
    const broken = () => {
      if (fatal) throw new TypeError("The encoded data was not valid for encoding utf-8");
      put(0xfffd);
    };
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i];
      if (needed === 0) {
        if (byte < 0x80) put(byte);
        else if (byte >= 0xc2 && byte <= 0xdf) { needed = 1; code = byte & 0x1f; }
        else if (byte >= 0xe0 && byte <= 0xef) { needed = 2; code = byte & 0xf; low = byte === 0xe0 ? 0xa0 : 0x80; high = byte === 0xed ? 0x9f : 0xbf; }
        else if (byte >= 0xf0 && byte <= 0xf4) { needed = 3; code = byte & 0x7; low = byte === 0xf0 ? 0x90 : 0x80; high = byte === 0xf4 ? 0x8f : 0xbf; }
        else broken();
        continue;
      }
      if (byte < low || byte > high) { needed = 0; low = 0x80; high = 0xbf; broken(); i--; continue; }
      low = 0x80; high = 0xbf;
      code = (code << 6) | (byte & 0x3f);
      if (--needed === 0) put(code);
    }
    if (last && needed > 0) { needed = 0; low = 0x80; high = 0xbf; broken(); }
    Object.assign(state, { code, needed, low, high });
    parts.push(String.fromCharCode.apply(null, units));
    return parts.join("");
  };
  const LABELS = new Set(["utf-8", "utf8", "unicode-1-1-utf-8"]);
  class TextDecoder {
    #fatal; #ignoreBOM; #state; #begun = false;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!LABELS.has(`${label}`.trim().toLowerCase())) throw new RangeError(`encoding ${label} is not supported; only utf-8 is`);
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
      this.#reset();
    }
    #reset() { this.#state = { code: 0, needed: 0, low: 0x80, high: 0xbf }; this.#begun = false; }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input, { stream = false } = {}) {
      let text = decode(bytesOf(input), this.#fatal, this.#state, !stream);
      if (!this.#begun && text !== "") {
        this.#begun = true;
        if (!this.#ignoreBOM && text[0] === "\ufeff") text = text.slice(1);
      }
      if (!stream) this.#reset();
      return text;
    }
  }

  function btoa(input) {
    const text = `${input}`, out = [];
    let made = "";
    for (let i = 0; i < text.length; i += 3) {
      const a = text.charCodeAt(i), b = text.charCodeAt(i + 1), c = text.charCodeAt(i + 2);
      if (a > 255 || b > 255 || c > 255) throw problem("the text has characters outside of Latin1", "InvalidCharacterError");
      made += ALPHABET[a >> 2] + ALPHABET[((a & 3) << 4) | (b >> 4)];
      made += i + 1 < text.length ? ALPHABET[((b & 15) << 2) | (c >> 6)] : "=";
      made += i + 2 < text.length ? ALPHABET[c & 63] : "=";
      if (made.length >= 4096) { out.push(made); made = ""; }
    }
    out.push(made);
    return out.join("");
  }
  let values;
  function atob(input) {
    const wrong = () => problem("the text is not base64", "InvalidCharacterError");
    let text = `${input}`.replace(/[\t\n\f\r ]+/g, "");
    if (text.length % 4 === 0) text = text.replace(/==?$/, "");
    if (text.length % 4 === 1) throw wrong();
    values ??= new Map([...ALPHABET].map((character, index) => [character, index]));
    const out = [];
    let units = [], bits = 0, have = 0;
    for (let i = 0; i < text.length; i++) {
      const value = values.get(text[i]);
      if (value === undefined) throw wrong();
      bits = ((bits << 6) | value) & 0xffffff;
      have += 6;
      if (have >= 8) { have -= 8; units.push((bits >> have) & 255); }
      if (units.length >= 4096) { out.push(String.fromCharCode.apply(null, units)); units = []; }
    }
    out.push(String.fromCharCode.apply(null, units));
    return out.join("");
  }

  const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const PLAIN = [Boolean, Number, String, BigInt];
  const refuse = what => problem(`${what} cannot be cloned`, "DataCloneError");
  const copy = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") throw refuse(typeof value === "symbol" ? "a symbol" : "a function");
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = made => { seen.set(value, made); return made; };
    if (Array.isArray(value)) {
      const made = keep([]);
      made.length = value.length;
      for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
      return made;
    }
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, each] of [...value]) made.set(copy(key, seen), copy(each, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const each of [...value]) made.add(copy(each, seen));
      return made;
    }
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = copy(value.buffer, seen), Kind = value.constructor;
      return keep(new Kind(buffer, value.byteOffset, Kind === DataView ? value.byteLength : value.length));
    }
    if (value instanceof Error) {
      const Kind = ERRORS[value.name] ?? Error, made = keep(new Kind(value.message));
      Object.defineProperty(made, "stack", { value: value.stack, writable: true, configurable: true });
      if (Object.hasOwn(value, "cause")) Object.defineProperty(made, "cause", { value: copy(value.cause, seen), writable: true, configurable: true });
      return made;
    }
    for (const Kind of PLAIN) if (value instanceof Kind) return keep(Object(value.valueOf()));
    for (const Kind of [Promise, WeakMap, WeakSet, WeakRef]) if (value instanceof Kind) throw refuse(`a ${Kind.name}`);
    const made = keep({});
    for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
    return made;
  };
  function structuredClone(value) {
    if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
    return copy(value, new Map());
  }

  const crypto = { randomUUID() { return native.uuid(); } };
  return { TextEncoder, TextDecoder, structuredClone, atob, btoa, crypto };
}
