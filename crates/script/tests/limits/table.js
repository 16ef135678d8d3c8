// Every built-in function that a script can reach, and what each is called with: found by looking at the runtime, so that a
// new engine's functions are in it. It takes the functions that it needs before any call can change them.

const { apply, construct, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, ownKeys } = Reflect;
const { defineProperty, hasOwn } = Object;
const report = globalThis.at;
delete globalThis.at;
// No global says its name.
globalThis.TypedArray = getPrototypeOf(Uint8Array);

const same = x => x;
const callback = (x, y) => (x < y ? -1 : 1);

/** Objects that lead to functions of which no global says anything. */
const hidden = () => [
  ["array iterator", [].values()],
  ["text iterator", ""[Symbol.iterator]()],
  ["map iterator", new Map().values()],
  ["set iterator", new Set().values()],
  ["matches", "".matchAll(/a/g)],
  ["iterator helper", [].values().map(same)],
  ["wrapped iterator", Iterator.from({ next: same })],
  ["generator", function* () {}],
  ["async generator", async function* () {}],
  ["async function", async function () {}],
  ["settling", Promise.withResolvers()],
  ["revocable", Proxy.revocable({}, {})],
];

/** All of them: `{ name, call, owner }`. */
function builtIns() {
  const seen = new Set([globalThis, callback, same]), queue = [], found = [];
  const visit = (name, value, owner) => {
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return;
    seen.add(value);
    queue.push([name, value]);
    if (typeof value === "function") found.push({ name, call: value, owner });
  };
  for (const root of [["", globalThis], ...hidden()]) {
    queue.push(root);
    while (queue.length > 0) look(...queue.shift(), visit);
  }
  return found;
}

/** Visits what an object has. */
function look(path, object, visit) {
  for (const key of ownKeys(object)) {
    const name = `${path && `${path}.`}${typeof key === "symbol" ? `[${key.description}]` : key}`;
    const { value, get, set } = getOwnPropertyDescriptor(object, key);
    visit(name, value, object);
    visit(`get ${name}`, get, object);
    visit(`set ${name}`, set, object);
    // Some globals are made when they are first read.
    if (get && object === globalThis) visit(name, globalThis[key], object);
  }
  if (path) visit(`prototype of ${path}`, getPrototypeOf(object), object);
}

/** How many items a large value has. Samples have one. */
const MANY = 1 << 20;

/** Large values by their names; `input` gives others, which are kept. */
const INPUTS = {
  text: n => "a".repeat(2 * n),
  wide: n => "\u03b1".repeat(n),
  array: n => new Array(n).fill(1),
  texts: n => Object.keys(new Array(Math.ceil(n / 32)).fill(1)),
  bytes: n => new Uint8Array(16 * n),
  floats: n => new Float64Array(2 * n),
  buffer: n => new ArrayBuffer(16 * n),
  view: n => new DataView(new ArrayBuffer(16 * n)),
  set: (_, input) => new Set(input("texts")),
  map: (_, input) => new Map(Object.entries(input("texts"))),
  object: (_, input) => Object.fromEntries(input("texts").map(key => [`k${key}`, key])),
  // An eighth of the largest: a text of that one takes more than two seconds, and operators make one too.
  bigint: n => (1n << BigInt(n >> 3)) - 1n,
  like: n => ({ length: n * 2 ** 33 - 1 }),
  long: n => ({ length: 48 * n }),
  alternatives: n => "a|".repeat(n / 8),
  code: n => `let v${Object.keys(new Array(Math.ceil(n / 16)).fill(1)).join(";let v")}`,
  proxy: (_, input) => new Proxy(input("array"), {}),
  regexp: () => /(?:a|b)*c/g,
  function: () => Math.max,
  callback: () => callback,
  zero: () => 0,
  many: n => n,
  iterator: (_, input) => input("array").values(),
  letters: (_, input) => input("text")[Symbol.iterator](),
  pairs: (_, input) => input("map").entries(),
  matches: (_, input) => input("text").matchAll(/a/g),
  generator: () => (function* () { for (;;) yield 1; })(),
  // Native functions alone, without end.
  endless: () => ({ next: Object.prototype.valueOf, [Symbol.iterator]: Object.prototype.valueOf }),
};

/** Those that functions are called on. */
const RECEIVERS = Object.keys(INPUTS).filter(name => !["callback", "zero", "many", "alternatives", "code"].includes(name));
const COLLECTIONS = ["array", "bytes", "set", "map", "object"];
/** Those for which everything takes long. */
const SLOW = ["bigint", "proxy"];

/** The arguments of a call; `self` is what it is called on. */
const PATTERNS = [
  [],
  ["zero", "many", "many"],
  ["callback", "array", "array"],
  ["self", "self"],
  ["many", "text"],
  ["regexp", "text"],
  ...["text", "wide", "alternatives", "array"].map(x => [x, x, x]),
];
const MORE = [...PATTERNS, ...["map", "like", "long", "proxy"].map(x => [x, x])];
/** Those of functions that belong to no value. */
const ALL = [
  ...MORE,
  ...["bytes", "buffer", "set", "object"].map(x => [x, x, x]),
  ...["generator", "endless", "iterator"].map(x => [x, x]),
  ["array", "callback"],
  ["bigint"],
  ["many", "bigint"],
  ["code"],
];

const isPrototype = object => hasOwn(object, "constructor");
const functions = builtIns();
const plan = [];
let total = 0;

/** Adds calls on one kind of value, with each of the patterns. */
function add(receiver, calls, patterns) {
  plan.push({ receiver, calls, patterns, first: total });
  total += calls.length * patterns.length;
}

function arrange() {
  const sample = name => INPUTS[name](1, sample), covered = new Set(), owners = new Map(), free = [];
  for (const each of functions) {
    if (!isPrototype(each.owner)) free.push(each);
    else if (owners.has(each.owner)) owners.get(each.owner).push(each);
    else owners.set(each.owner, [each]);
  }
  const of = isWanted => [...owners].filter(([owner]) => isWanted(owner)).flatMap(([, calls]) => calls);
  for (const receiver of RECEIVERS) {
    const prototypes = new Set();
    let owner = getPrototypeOf(Object(sample(receiver)));
    covered.add(owner);
    for (; owner !== null; owner = getPrototypeOf(owner)) prototypes.add(owner);
    const patterns = COLLECTIONS.includes(receiver) ? MORE : SLOW.includes(receiver) ? PATTERNS.slice(0, 2) : PATTERNS;
    add(receiver, of(it => prototypes.has(it)), patterns);
    if (receiver !== "bigint") add(receiver, of(it => !prototypes.has(it)), PATTERNS.slice(0, 1));
  }
  add("owner", free, ALL);
  add("new", functions.filter(each => hasOwn(each.call, "prototype")), [...PATTERNS, ["long", "long"], ["code"]]);
  add("made", of(it => !covered.has(it)), PATTERNS);
}
arrange();

/** The call of a number. */
function step(number) {
  let at = plan.length - 1;
  while (plan[at].first > number) at--;
  const { receiver, calls, patterns, first } = plan[at], rest = number - first;
  return { receiver, pattern: patterns[Math.floor(rest / calls.length)], ...calls[rest % calls.length] };
}

const kept = new Map();
/** What tells that a call has changed a value. */
const state = value => [getPrototypeOf(value), isExtensible(value), value.length, value.size, value.byteLength];
const isIntact = ({ value, before }) => {
  try { return !isObject(value) || state(value).every((it, i) => it === before[i]); } catch { return false; }
};
const isObject = value => typeof value === "object" && value !== null;

function input(name) {
  const old = kept.get(name);
  if (old && isIntact(old)) return old.value;
  kept.delete(name);
  const value = INPUTS[name](MANY, input);
  // What an argument is as a text is seen where a function makes one of what it is called on.
  if (isObject(value)) defineProperty(value, Symbol.toPrimitive, { value: () => "1", configurable: true });
  if (typeof value?.next !== "function") kept.set(name, { value, before: isObject(value) ? state(value) : [] });
  return value;
}

/** Makes what a call needs, and then the call. */
function prepared({ receiver, pattern, call, owner }) {
  const self = receiver === "owner" ? owner : INPUTS[receiver] && input(receiver);
  const others = pattern.map(name => (name === "self" ? self : input(name)));
  if (receiver === "new") return () => construct(call, others);
  if (receiver === "made") return () => apply(call, construct(owner.constructor, others), others);
  return () => apply(call, self, others);
}

/** What there is. */
export function List() {
  return { names: functions.map(each => each.name), total };
}

/** What the call of a number is. */
export function Name(number) {
  const { name, receiver, pattern } = step(number);
  return `${name} on ${receiver} with ${pattern.join(", ") || "nothing"}`;
}

/** Calls from a number on; tells the host each number first. */
export function Call(from) {
  let last;
  for (let number = from; number < total; number++) {
    const next = step(number), needed = `${next.receiver} ${next.pattern}`;
    if (needed !== last) kept.clear();
    last = needed;
    const call = prepared(next);
    report(number);
    try { call(); } catch {}
  }
}
