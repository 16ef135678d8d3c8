// What every generated script uses to say what it finds. It takes the functions that it needs before any script can change
// them, and writes lines without calling anything that a script could have replaced.

const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { is, isExtensible } = Object;
const { isArray } = Array;
const { toString: symbolText } = Symbol.prototype;
const { toISOString, getTime } = Date.prototype;
const text = String, ErrorOf = Error, DateOf = Date, Bytes = getPrototypeOf(Uint8Array);
const MOST = 24;

export const seen: string[] = [];
let count = 0;

/** Says what something is, a few levels deep, without running code of it (proxies apart). */
function show(value: any, depth: number): string {
  if (typeof value === "symbol") return apply(symbolText, value, []);
  if (typeof value === "string") return value.length > 80 ? `text of ${value.length}` : `'${value}'`;
  if (typeof value === "function") return `function ${field(value, "name", depth)}`;
  if (typeof value !== "object" || value === null) return is(value, -0) ? "-0" : `${typeof value} ${text(value)}`;
  if (depth > 2) return "object";
  if (value instanceof DateOf) {
    const time = apply(getTime, value, []);
    return time === time ? apply(toISOString, value, []) : "no date";
  }
  const kind = isArray(value) ? "list" : value instanceof Bytes ? "bytes" : value instanceof ErrorOf ? "error" : "object";
  let line = `${kind}${isExtensible(value) ? "" : " fixed"} {`;
  if (kind === "error") line += ` ${field(value, "name", depth)}: ${field(value, "message", depth)}`;
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length && i < MOST; i++) {
    if (keys[i] === "stack") continue;
    line += ` ${typeof keys[i] === "symbol" ? apply(symbolText, keys[i], []) : text(keys[i])}: ${field(value, keys[i], depth)}`;
  }
  return `${line} of ${keys.length} }`;
}

function field(object: any, key: PropertyKey, depth: number): string {
  for (let owner = object; owner !== null; owner = getPrototypeOf(owner)) {
    const own = getOwnPropertyDescriptor(owner, key);
    if (own === undefined) continue;
    const flags = `${own.writable ? "w" : ""}${own.enumerable ? "e" : ""}${own.configurable ? "c" : ""}`;
    return own.get || own.set ? `accessor ${flags}` : `${show(own.value, depth + 1)} ${flags}`;
  }
  return "nothing";
}

/** Writes down what a function gives, or throws. */
export function look(name: string, ask: () => any) {
  let line;
  try { line = show(ask(), 0); } catch (error) { line = `threw ${show(error, 0)}`; }
  seen[count++] = `${name}: ${line}`;
}

/** Writes down what a promise comes to. */
export async function wait(name: string, ask: () => any) {
  let line;
  try { line = show(await ask(), 0); } catch (error) { line = `rejected ${show(error, 0)}`; }
  seen[count++] = `${name}: ${line}`;
}

/** Writes down an object's keys, what some of them are, and what it is made of. */
export function inspect(object: any) {
  const keys = ownKeys(object);
  let line = `${keys.length} keys, ${isExtensible(object)}, of ${field(getPrototypeOf(object) ?? {}, "constructor", 1)}:`;
  for (let i = 0; i < keys.length; i++) line += ` ${text(keys[i])} ${field(object, keys[i], 2)};`;
  seen[count++] = line;
}
