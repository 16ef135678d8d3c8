// Some of the engine's functions run for as long as their input is long without asking whether the run must end. Here they
// get inputs of bounded size, or are done step by step in JavaScript, which asks. What slips through is what one call can do
// with the memory a run may have; the watchman answers for that.

export function install() {
  const { apply, getOwnPropertyDescriptor: describe } = Reflect;
  const { getPrototypeOf } = Object;
  const { isArray } = Array;
  // A run's heap holds no more items than this; longer arrays consist of holes.
  const ITEMS = 1 << 22;
  // Work that the engine may do in one piece: comparisons of characters.
  const WORK = 2 ** 26;
  const CHARACTERS = 1 << 20;
  const hide = (target, name, value) => Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  const wrap = (target, name, make) => {
    const original = target[name];
    const wrapped = make(original, name);
    Object.defineProperty(wrapped, "name", { value: name, configurable: true });
    Object.defineProperty(wrapped, "length", { value: original.length, configurable: true });
    hide(target, name, wrapped);
  };
  // Lets the engine ask in proportion to the work that was done: it asks after so many turns of a loop.
  const tick = work => { for (let i = work >>> 6; i > 0; i--); };

  // Proxies may lie about their length, so it must be known which objects are proxies.
  const RealProxy = Proxy, proxies = new WeakSet(), isProxy = proxies.has.bind(proxies), remember = proxies.add.bind(proxies);
  let any = false;
  const TrackedProxy = function Proxy(target, handler) {
    if (!new.target) throw new TypeError("Constructor Proxy requires 'new'");
    const made = new RealProxy(target, handler);
    any = true;
    remember(made);
    return made;
  };
  hide(TrackedProxy, "revocable", function revocable(target, handler) {
    const made = RealProxy.revocable(target, handler);
    any = true;
    remember(made.proxy);
    return made;
  });
  TrackedProxy.prototype = undefined;
  hide(globalThis, "Proxy", TrackedProxy);

  const tooLong = (name, length) => new RangeError(`${name} of ${length} items is not available`);
  // True if the length that was seen is the length that the engine will see.
  const honest = object => {
    if (any && isProxy(object)) return false;
    if (isArray(object) || typeof object !== "object" || object === null || ArrayBuffer.isView(object)) return true;
    for (let owner = object; owner !== null; owner = getPrototypeOf(owner)) {
      if (any && isProxy(owner)) return false;
      const found = describe(owner, "length");
      if (found) return "value" in found && typeof found.value !== "object";
    }
    return true;
  };
  const count = (object, name) => {
    const length = Number(object?.length) || 0;
    if (length > ITEMS) throw tooLong(name, length);
    tick(length);
    return length;
  };
  // A plain array with the items of something whose length cannot be trusted.
  const copied = (object, name) => {
    const length = count(object, name), items = [];
    items.length = length;
    for (let i = 0; i < length; i++) if (i in object) items[i] = object[i];
    return items;
  };
  const reading = (original, name) => function () {
    if (!honest(this)) return apply(original, copied(this, name), arguments);
    count(this, name);
    return apply(original, this, arguments);
  };
  const changing = (original, name) => function () {
    if (!honest(this)) throw new TypeError(`${name} of a proxy or of an object with a computed length is not available`);
    count(this, name);
    return apply(original, this, arguments);
  };
  const list = Array.prototype;
  for (const name of ["join", "toLocaleString", "slice", "toReversed", "toSpliced", "with"]) wrap(list, name, reading);
  for (const name of ["reverse", "fill", "copyWithin", "unshift", "shift", "splice"]) wrap(list, name, changing);
  wrap(list, "concat", original => function (...items) {
    const plain = item => {
      if (item === null || typeof item !== "object") return item;
      const spreads = item[Symbol.isConcatSpreadable] ?? isArray(item);
      if (!spreads) return item;
      if (!honest(item)) return copied(item, "concat");
      count(item, "concat");
      return item;
    };
    for (let i = 0; i < items.length; i++) items[i] = plain(items[i]);
    return apply(original, plain(this), items);
  });
  // Nested arrays that share their parts have more ways through them than items.
  const flatten = (into, items, depth) => {
    const length = count(items, "flat");
    for (let i = 0; i < length; i++) {
      if (!(i in items)) continue;
      const item = items[i];
      if (depth > 0 && isArray(item)) flatten(into, item, depth - 1); else into.push(item);
    }
    return into;
  };
  wrap(list, "flat", () => function (depth) { return flatten([], this, depth === undefined ? 1 : Math.trunc(Number(depth)) || 0); });
  wrap(list, "flatMap", () => function (callback, self) {
    if (typeof callback !== "function") throw new TypeError("not a function");
    return flatten([], copied(this, "flatMap").map((item, index) => apply(callback, self, [item, index, this])), 1);
  });

  // Sorting without a function compares without asking; with one, every comparison asks.
  const SORTED = 5000;
  const byText = (a, b) => { const x = `${a}`, y = `${b}`; return x < y ? -1 : x > y ? 1 : 0; };
  const sorting = (original, name) => function (compare) {
    const own = name === "sort" && !honest(this);
    if (own) throw new TypeError("sort of a proxy or of an object with a computed length is not available");
    const items = honest(this) ? this : copied(this, name);
    const length = count(items, name);
    return apply(original, items, [compare === undefined && length > SORTED ? byText : compare]);
  };
  wrap(list, "sort", sorting);
  wrap(list, "toSorted", sorting);
  const byNumber = (a, b) => {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a === b) return a === 0 ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : 0;
    return Number(a !== a) - Number(b !== b);
  };
  const typed = getPrototypeOf(Uint8Array.prototype);
  for (const name of ["sort", "toSorted"]) {
    wrap(typed, name, original => function (compare) {
      return apply(original, this, [compare === undefined && this.length > SORTED ? byNumber : compare]);
    });
  }

  // Strings: searching costs the product of both lengths at worst. Beyond a bound it is done by Knuth, Morris and Pratt.
  const text = String.prototype;
  const { charCodeAt, slice } = text;
  const code = (string, index) => apply(charCodeAt, string, [index]);
  const heavy = (string, part) => string.length * part.length > WORK;
  function* places(string, part) {
    const length = part.length, back = new Int32Array(length + 1);
    back[0] = -1;
    for (let i = 0, k = -1; i < length;) {
      while (k >= 0 && code(part, i) !== code(part, k)) k = back[k];
      back[++i] = ++k;
    }
    for (let i = 0, k = 0; i < string.length;) {
      while (k >= 0 && code(string, i) !== code(part, k)) k = back[k];
      i++;
      if (++k === length) { yield i - length; k = back[k]; }
    }
  }
  const first = (string, part, from) => { for (const at of places(string, part)) if (at >= from) return at; return -1; };
  const last = (string, part, to) => { let found = -1; for (const at of places(string, part)) { if (at > to) break; found = at; } return found; };
  const position = (value, otherwise) => { const at = Number(value); return at !== at ? otherwise : Math.trunc(at); };
  const searching = find => original => function (part, at) {
    if (typeof this === "string" && typeof part === "string") {
      if (heavy(this, part)) return find(this, part, at);
      tick(this.length);
    }
    return apply(original, this, arguments);
  };
  wrap(text, "indexOf", searching((string, part, at) => first(string, part, position(at, 0))));
  wrap(text, "includes", searching((string, part, at) => first(string, part, position(at, 0)) >= 0));
  wrap(text, "lastIndexOf", searching((string, part, at) => last(string, part, position(at, Infinity))));
  const pieces = function* (string, part) {
    let end = 0;
    for (const at of places(string, part)) {
      if (at < end) continue;
      yield [apply(slice, string, [end, at]), at];
      end = at + part.length;
    }
    yield [apply(slice, string, [end]), -1];
  };
  wrap(text, "split", original => function (part, limit) {
    if (typeof part !== "string" || typeof this !== "string") return apply(original, this, arguments);
    if (!heavy(this, part)) { tick(this.length); return apply(original, this, arguments); }
    const found = [], most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0;
    for (const [piece] of pieces(this, part)) { if (found.length >= most) break; found.push(piece); }
    return found;
  });
  const replacing = all => (original, name) => function (part, by) {
    if (typeof part !== "string" || typeof this !== "string") return apply(original, this, arguments);
    if (!heavy(this, part)) { tick(this.length); return apply(original, this, arguments); }
    if (typeof by !== "function" && `${by}`.includes("$")) throw new RangeError(`${name} with $ in strings this long is not available`);
    const made = [];
    let end = 0;
    for (const at of places(this, part)) {
      if (at < end) continue;
      made.push(apply(slice, this, [end, at]), typeof by === "function" ? `${by(part, at, this)}` : `${by}`);
      end = at + part.length;
      if (!all) break;
    }
    made.push(apply(slice, this, [end]));
    return made.join("");
  };
  wrap(text, "replace", replacing(false));
  wrap(text, "replaceAll", replacing(true));
  // Putting marks of one character in order costs the square of their number.
  let marks;
  const normal = (string, name) => {
    if (typeof string !== "string") return;
    if (string.length > CHARACTERS) throw new RangeError(`${name} of more than ${CHARACTERS} characters is not available`);
    if (string.length < 200) return;
    marks ??= /\p{M}{200}/u;
    if (marks.test(string)) throw new RangeError(`${name} of a character with 200 marks is not available`);
    tick(string.length << 2);
  };
  wrap(text, "normalize", original => function () { normal(this, "normalize"); return apply(original, this, arguments); });
  wrap(text, "localeCompare", original => function (other) {
    normal(this, "localeCompare");
    normal(other, "localeCompare");
    return apply(original, this, arguments);
  });
  for (const name of ["toLowerCase", "toUpperCase", "toLocaleLowerCase", "toLocaleUpperCase", "repeat", "padStart", "padEnd"]) {
    wrap(text, name, original => function () {
      const made = apply(original, this, arguments);
      tick(made.length);
      return made;
    });
  }
  for (const name of ["stringify", "parse"]) {
    wrap(JSON, name, original => function (value) {
      const made = apply(original, this, arguments);
      tick(((typeof value === "string" ? value : made)?.length ?? 0) << 2);
      return made;
    });
  }
  return {};
}
