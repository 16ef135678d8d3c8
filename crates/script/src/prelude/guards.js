// Some of the engine's functions run for as long as their input is long without asking whether the run must end. Here they
// get inputs of bounded size, or are done step by step in JavaScript, which asks. What slips through is what one call can do
// with the memory a run may have; the watch thread answers for that.

export function install(native) {
  // A script may put others in their place later.
  const { Number, Object, Symbol, WeakMap } = globalThis;
  const { apply, construct, getOwnPropertyDescriptor: describe, ownKeys } = Reflect;
  const { getPrototypeOf, setPrototypeOf, fromEntries, getOwnPropertyDescriptors: describeAll } = Object;
  const { isArray } = Array;
  // A run's heap holds no more items than this; longer arrays consist of holes.
  const ITEMS = 1 << 22;
  // An existing property keeps its attributes when it is given another value.
  const guard = (target, methods) => { for (const name in methods) target[name] = methods[name]; };
  // Lets the engine ask in proportion to the work that was done: it asks after so many turns of a loop.
  const tick = work => { for (let i = work >>> 6; i > 0; i--); };

  // Proxies may lie about their length, so it must be known which objects are proxies.
  const RealProxy = Proxy, proxies = new WeakSet(), isProxy = proxies.has.bind(proxies), remember = proxies.add.bind(proxies);
  let any = false;
  // The engine compares each name with those before it.
  const NAMES = 1 << 13;
  // No setter of a prototype gets hold of them before the engine does.
  const few = names => {
    if (Object(names) !== names) return names;
    const length = +names.length, kept = { __proto__: null, length: 0 };
    if (length > NAMES) throw new RangeError(`ownKeys of a proxy returns ${length} names: at most ${NAMES} are available`);
    // A length of 2.5 is 2.
    for (; kept.length + 1 <= length; kept.length++) kept[kept.length] = names[kept.length];
    return kept;
  };
  // What the engine asks for traps: those of the script's handler, which are called on that one.
  const trapsOf = handler => Object(handler) !== handler ? handler : new RealProxy({}, {
    get(_, name) {
      const trap = handler[name];
      if (trap == null) return trap;
      if (name !== "ownKeys") return (...args) => apply(trap, handler, args);
      return target => few(apply(trap, handler, [target]));
    },
  });
  const TrackedProxy = function Proxy(target, handler) {
    if (!new.target) throw new TypeError("Constructor Proxy requires 'new'");
    const made = new RealProxy(target, trapsOf(handler));
    any = true;
    remember(made);
    return made;
  };
  TrackedProxy.prototype = undefined;
  Object.defineProperty(TrackedProxy, "revocable", {
    writable: true,
    configurable: true,
    value(target, handler) {
      const made = RealProxy.revocable(target, trapsOf(handler));
      any = true;
      remember(made.proxy);
      return made;
    },
  });
  guard(globalThis, { Proxy: TrackedProxy });

  const typed = getPrototypeOf(Uint8Array.prototype);
  const { get: lengthOf } = describe(typed, "length"), { get: tagOf } = describe(typed, Symbol.toStringTag);
  const tooLong = (name, length) => new RangeError(`${name} of ${length} items is not available`);
  // True if the length that was seen is the length that the engine will see.
  const honest = object => {
    if (!any && isArray(object)) return true;
    if (any && isProxy(object)) return false;
    if (isArray(object) || Object(object) !== object) return true;
    for (let owner = object; owner !== null; owner = getPrototypeOf(owner)) {
      if (any && isProxy(owner)) return false;
      const found = describe(owner, "length");
      if (found) return found.get ? found.get === lengthOf : Object(found.value) !== found.value;
    }
    return true;
  };
  // What is kept from a script: a setter of a prototype would get hold of it, and make it longer.
  const hidden = () => setPrototypeOf([], null);
  const count = (object, name) => {
    const length = Number(object?.length) || 0;
    if (length > ITEMS) throw tooLong(name, length);
    tick(length);
    return length;
  };
  // A plain array with the items of something whose length cannot be trusted.
  const copied = (object, name) => {
    const length = count(object, name), items = hidden();
    items.length = length;
    for (let i = 0; i < length; i++) if (i in object) items[i] = object[i];
    return items;
  };
  const reading = (original, name, self, args) => {
    if (!honest(self)) return apply(original, copied(self, name), args);
    count(self, name);
    return apply(original, self, args);
  };
  const changing = (original, name, self, args) => {
    if (!honest(self)) throw new TypeError(`${name} of a proxy or of an object with a computed length is not available`);
    count(self, name);
    return apply(original, self, args);
  };
  const list = Array.prototype;
  const { join, map, push, toLocaleString, slice: part, toReversed, toSpliced, with: changed, reverse, fill, copyWithin, unshift, shift, splice, concat, sort, toSorted } = list;
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
  const spreadable = Symbol.isConcatSpreadable;
  // Whether the engine is told the same when it asks once more whether an object is spread.
  const steady = object => {
    for (let owner = object; owner !== null; owner = getPrototypeOf(owner)) {
      if (any && isProxy(owner)) return false;
      const found = describe(owner, spreadable);
      if (found) return "value" in found;
    }
    return true;
  };
  const spread = item => {
    if (Object(item) !== item) return item;
    const wanted = item[spreadable], isSpread = wanted === undefined ? isArray(item) : Boolean(wanted);
    if (!steady(item)) return Object.defineProperty(isSpread ? copied(item, "concat") : [item], spreadable, { value: true });
    if (!isSpread) return item;
    if (!honest(item)) return copied(item, "concat");
    count(item, "concat");
    return item;
  };
  // Sorting without a function compares without asking; with one, every comparison asks.
  const SORTED = 5000;
  const byText = (a, b) => { const x = `${a}`, y = `${b}`; return x < y ? -1 : x > y ? 1 : 0; };
  const sorting = (original, name, self, compare) => {
    const items = honest(self) ? self : name === "sort" ? undefined : copied(self, name);
    if (items === undefined) throw new TypeError("sort of a proxy or of an object with a computed length is not available");
    const length = count(items, name);
    return apply(original, items, [compare === undefined && length > SORTED ? byText : compare]);
  };
  guard(list, {
    join(separator) { return reading(join, "join", this, arguments); },
    toLocaleString() { return reading(toLocaleString, "toLocaleString", this, arguments); },
    slice(start, end) { return reading(part, "slice", this, arguments); },
    toReversed() { return reading(toReversed, "toReversed", this, arguments); },
    toSpliced(start, skip) { return reading(toSpliced, "toSpliced", this, arguments); },
    with(index, value) { return reading(changed, "with", this, arguments); },
    reverse() { return changing(reverse, "reverse", this, arguments); },
    fill(value) { return changing(fill, "fill", this, arguments); },
    copyWithin(target, start) { return changing(copyWithin, "copyWithin", this, arguments); },
    unshift(item) { return changing(unshift, "unshift", this, arguments); },
    shift() { return changing(shift, "shift", this, arguments); },
    splice(start, count) { return changing(splice, "splice", this, arguments); },
    concat(item) {
      for (let i = 0; i < arguments.length; i++) arguments[i] = spread(arguments[i]);
      return apply(concat, spread(this), arguments);
    },
    flat() { const depth = arguments[0]; return flatten([], this, depth === undefined ? 1 : Math.trunc(Number(depth)) || 0); },
    flatMap(callback) {
      if (typeof callback !== "function") throw new TypeError("not a function");
      const self = arguments[1];
      return flatten([], apply(map, copied(this, "flatMap"), [(item, index) => apply(callback, self, [item, index, this])]), 1);
    },
    sort(compare) { return sorting(sort, "sort", this, compare); },
    toSorted(compare) { return sorting(toSorted, "toSorted", this, compare); },
  });
  const byNumber = (a, b) => {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a === b) return a === 0 ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : 0;
    return Number(a !== a) - Number(b !== b);
  };
  const { sort: sortTyped, toSorted: toSortedTyped } = typed;
  // Not what a script has put in the place of the length.
  const sizeOf = array => apply(lengthOf, array, []);
  const sortingTyped = (original, self, compare) => apply(original, self, [compare === undefined && sizeOf(self) > SORTED ? byNumber : compare]);
  const { join: joinTyped, toLocaleString: localTyped, subarray, set } = typed, { from } = getPrototypeOf(Uint8Array);
  // So many items of numbers become text in one piece.
  const PIECE = 1 << 16;
  const joining = (original, self, between) => {
    const parts = hidden(), length = sizeOf(self);
    if (length <= PIECE) return apply(original, self, [between]);
    for (let i = 0; i < length; i += PIECE) apply(push, parts, [apply(original, apply(subarray, self, [i, i + PIECE]), [between])]);
    return apply(join, parts, [between]);
  };
  const { prototype: buffers } = ArrayBuffer, { get: bytesOf } = describe(buffers, "byteLength");
  // Something whose items are taken one by one: none that is longer than a heap, or whose length is computed.
  const bounded = (source, name) => {
    if (Object(source) !== source) return source;
    // What only looks like a buffer throws.
    if (getPrototypeOf(source) === buffers) { apply(bytesOf, source, []); return source; }
    if (!honest(source)) return name !== "set" && source[Symbol.iterator] != null ? [...source] : copied(source, name);
    if (name === "from" || apply(tagOf, source, []) === undefined) count(source, name);
    return source;
  };
  guard(typed, {
    sort(compare) { return sortingTyped(sortTyped, this, compare); },
    toSorted(compare) { return sortingTyped(toSortedTyped, this, compare); },
    join(separator) { return joining(joinTyped, this, separator === undefined ? "," : `${separator}`); },
    toLocaleString() { return joining(localTyped, this, ","); },
    set(source) {
      arguments[0] = bounded(typeof source === "string" ? Object(source) : source, "set");
      return apply(set, this, arguments);
    },
  });
  guard(getPrototypeOf(Uint8Array), {
    from(source) {
      arguments[0] = bounded(source, "from");
      return apply(from, this, arguments);
    },
  });

  // The engine goes through its own iterators without asking: through this one it asks at each item.
  const stepped = iterator => {
    if (Object(iterator) !== iterator) return iterator;
    const { next } = iterator;
    return {
      next() { return apply(next, iterator, []); },
      return() { const { return: close } = iterator; return close == null ? {} : apply(close, iterator, []); },
      [Symbol.iterator]() { return this; },
    };
  };
  const steps = items => (typeof items?.[Symbol.iterator] === "function" ? stepped(items[Symbol.iterator]()) : items);
  // So many items are dropped in one piece: a match with 100 groups takes 16 µs.
  const DROPPED = 1 << 12;
  const { drop, join: joinItems, includes: includesItem } = Iterator.prototype, { sumPrecise } = Math;
  guard(Iterator.prototype, {
    drop(count) { const most = +count; return apply(drop, most > DROPPED ? stepped(this) : this, [most]); },
    join(separator) { return apply(joinItems, stepped(this), [separator]); },
    includes(item) { return apply(includesItem, stepped(this), arguments); },
  });
  guard(Math, {
    sumPrecise(items) { return sumPrecise(steps(items)); },
  });
  // Each name is looked for among those of its hash.
  const described = function* (object) {
    for (const name of ownKeys(object)) {
      const found = describe(object, name);
      if (found) yield [name, found];
    }
  };
  guard(Object, {
    fromEntries(items) { return fromEntries(steps(items)); },
    getOwnPropertyDescriptors(object) {
      return object == null ? describeAll(object) : fromEntries(stepped(described(Object(object))));
    },
  });

  // A constructor whose arguments are looked at first. What extends it is made as without this.
  const guardConstructor = (real, change) => {
    const guarded = new RealProxy(real, {
      apply: (_, self, args) => apply(real, self, change(args)),
      construct: (_, args, target) => construct(real, change(args), target === guarded ? real : target),
    });
    Object.defineProperty(real.prototype, "constructor", { value: guarded });
    if (globalThis[real.name] === real) globalThis[real.name] = guarded;
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const value = describe(globalThis, name).value;
    if (typeof value !== "function" || getPrototypeOf(value) !== typed.constructor) continue;
    guardConstructor(value, args => { args[0] = bounded(args[0], name); return args; });
  }

  // Compiling takes up to the square of the length, in one piece. An `eval` in a scope of its own cannot be looked at first:
  // there is the global one alone.
  const CODE = 1 << 14, PATTERN = 1 << 13;
  const short = (text, most, name) => {
    if (text.length > most) throw new RangeError(`${name} of more than ${most} characters is not available`);
    return text;
  };
  const { eval: evaluate } = globalThis;
  guard(globalThis, { eval(code) { return evaluate(typeof code === "string" ? short(code, CODE, "eval") : code); } });
  for (const made of [function () {}, function* () {}, async function () {}, async function* () {}]) {
    const real = made.constructor;
    // The others extend the first one.
    if (getPrototypeOf(real) !== Function.prototype) Object.setPrototypeOf(real, Function);
    guardConstructor(real, args => {
      const texts = hidden();
      let length = 0;
      for (let i = 0; i < args.length; i++) length += (texts[i] = `${args[i]}`).length;
      short({ length }, CODE, "a function's text");
      return texts;
    });
  }
  const { compile } = RegExp.prototype;
  const { get: sourceOf } = describe(RegExp.prototype, "source"), { get: isGlobal } = describe(RegExp.prototype, "global");
  const isRegExp = value => {
    if (typeof value !== "object" || value === null) return false;
    // The prototype, which is none, has no flags.
    try { return apply(isGlobal, value, []) !== undefined; } catch { return false; }
  };
  // What is no regular expression becomes a text here, so that it is not another one later.
  const patterned = args => {
    const name = "a regular expression";
    if (isRegExp(args[0])) short(apply(sourceOf, args[0], []), PATTERN, name);
    else if (args[0] !== undefined) args[0] = short(`${args[0]}`, PATTERN, name);
    return args;
  };
  guardConstructor(RegExp, patterned);
  guard(RegExp.prototype, { compile(pattern, flags) { return apply(compile, this, patterned([pattern, flags])); } });

  const { stringify, parse } = JSON;
  guard(JSON, {
    stringify(value, replacer, space) {
      // Each name that is allowed is compared with those before it.
      if (isArray(replacer)) {
        if (!honest(replacer)) arguments[1] = copied(replacer, "stringify");
        if (arguments[1].length > NAMES) throw new RangeError(`stringify with more than ${NAMES} names is not available`);
      }
      const text = apply(stringify, this, arguments);
      tick((text?.length ?? 0) << 2);
      return text;
    },
    parse(text, reviver) {
      const value = apply(parse, this, arguments);
      tick(typeof text === "string" ? text.length << 2 : 0);
      return value;
    },
  });
  // Where an item that is let go frees an iterator or another item, the engine goes on with what was freed. Here items go one by
  // one, and what would be freed is held.
  for (const { prototype: own } of [Map, Set]) {
    const { keys, entries, delete: remove } = own, { next } = getPrototypeOf(new own.constructor().keys());
    const each = (iterator, visit) => { for (let step; !(step = apply(next, iterator, [])).done;) visit(step.value); };
    guard(own, {
      clear() { each(apply(keys, this, []), key => apply(remove, this, [key])); },
      forEach(callback) {
        const items = apply(entries, this, []), self = arguments[1];
        if (typeof callback !== "function") throw new TypeError("not a function");
        each(items, item => { apply(callback, self, [item[1], item[0], this]); });
      },
    });
  }
  const { set: setWeak, get: getWeak, delete: deleteWeak } = WeakMap.prototype, heldOf = new WeakMap();
  const { register, unregister } = FinalizationRegistry.prototype;
  // Symbols are freed at once, and what refers to them weakly with them.
  const noSymbol = value => {
    if (typeof value === "symbol") throw new TypeError("a symbol cannot be referred to weakly in Ambit");
    return value;
  };
  for (const name of ["set", "getOrInsert", "getOrInsertComputed"]) {
    const real = WeakMap.prototype[name];
    if (real) guard(WeakMap.prototype, { [name](key, value) { noSymbol(key); return apply(real, this, arguments); } });
  }
  const { add } = WeakSet.prototype;
  guard(WeakSet.prototype, { add(item) { noSymbol(item); return apply(add, this, [item]); } });
  guardConstructor(WeakRef, args => { noSymbol(args[0]); return args; });
  guard(FinalizationRegistry.prototype, {
    register(target, value) {
      const token = noSymbol(arguments[2]);
      noSymbol(target);
      if (Object(token) === token) {
        let held = apply(getWeak, heldOf, [this]);
        if (!held) apply(setWeak, heldOf, [this, held = new WeakMap()]);
        apply(setWeak, held, [token, { value, before: apply(getWeak, held, [token]) }]);
      }
      apply(register, this, arguments);
    },
    unregister(token) {
      const done = apply(unregister, this, arguments), held = apply(getWeak, heldOf, [this]);
      if (held) apply(deleteWeak, held, [token]);
      return done;
    },
  });

  // What the other parts need; no script reaches it.
  Object.assign(native, { RealProxy, compile, count, guard, isRegExp, patterned, stepped, tick });
  return {};
}
