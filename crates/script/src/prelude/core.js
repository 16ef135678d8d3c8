// The part of the prelude that every runtime has: calls to the host, timers, console, and what must be absent.
// `native` is closed over and never reachable from a script.

export function install(native) {
  const { call, timer, clear, part, log } = native;
  const { create, defineProperty, freeze, setPrototypeOf } = Object;
  const { apply, get: reflectGet, has: reflectHas } = Reflect;
  // The guards need not know of the host's own proxies: they never lie.
  const { RealProxy } = native;
  const PromiseOf = Promise, resolved = Promise.resolve.bind(Promise);
  const hidden = { value: undefined, writable: true, configurable: true, enumerable: false };
  const put = (target, name, value) => { hidden.value = value; defineProperty(target, name, hidden); };

  // Objects of the host: the handle is a private field, so that no script can read, forge or move it.
  class Bare { constructor(object) { return object; } }
  class Handle extends Bare {
    #own;
    constructor(object, own) { super(object); this.#own = own; }
    static of(object, name) {
      if (object === null || typeof object !== "object" || !(#own in object) || object.#own.name !== name) return undefined;
      return object.#own;
    }
  }
  const prototypes = new Map();
  const waiting = new Map();

  const ask = (number, promise, handle, args, receiver) => {
    const answer = call(number, handle, args, make, receiver);
    if (!promise) return answer;
    return new PromiseOf((resolve, reject) => waiting.set(answer, { resolve, reject }));
  };
  const method = (name, key, number, promise) => ({
    [key](...args) {
      const own = Handle.of(this, name);
      if (!own) throw new TypeError(`${key} must be called on the object it belongs to`);
      return ask(number, promise, own.handle, args, this);
    },
  })[key];
  // Most methods of the host are never touched: each is made when a script first asks for it, and is there from then on.
  const prototype = name => {
    let made = prototypes.get(name);
    if (made) return made;
    const find = key => (typeof key === "string" ? native.method(name, key) : undefined);
    made = create(new RealProxy({}, {
      get(target, key, self) {
        const number = find(key);
        if (number === undefined) return reflectGet(target, key, self);
        put(made, key, method(name, key, number >> 1, (number & 1) === 1));
        return made[key];
      },
      has(target, key) { return find(key) !== undefined || reflectHas(target, key); },
    }));
    prototypes.set(name, made);
    return made;
  };
  function make(name, handle, members) {
    setPrototypeOf(members, prototype(name));
    new Handle(members, { handle, name });
    return members;
  }

  // Objects with functions, like `http`, are made when first touched.
  let fetching;
  const groups = new Map(), globals = native.globals;
  for (let i = 0; i < globals.length; i += 4) {
    const root = globals[i], last = globals[i + 1], number = globals[i + 2], promise = globals[i + 3];
    if (root === "fetch") { fetching = number; continue; }
    const name = last || root;
    const add = target => put(target, name, { [name]: function (...args) { return ask(number, promise, null, args, undefined); } }[name]);
    if (last === "") { add(globalThis); continue; }
    const group = groups.get(root);
    if (group) group.push(add); else groups.set(root, [add]);
  }
  const late = (name, made) => defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get() { const value = made(); put(globalThis, name, value); return value; },
    set(value) { put(globalThis, name, value); },
  });
  for (const [root, adds] of groups) {
    late(root, () => { const object = {}; for (const add of adds) add(object); return object; });
  }

  // Timers. The host knows when; the functions stay here.
  const timers = new Map();
  let last = 0;
  const start = (name, callback, delay, args, again) => {
    if (typeof callback !== "function") throw new TypeError(`${name} needs a function`);
    let wait = Number(delay);
    if (!(wait > 0)) wait = 0;
    const id = ++last;
    timer(id, wait);
    timers.set(id, { callback, args, wait, again });
    return id;
  };
  put(globalThis, "setTimeout", function setTimeout(callback, delay, ...args) { return start("setTimeout", callback, delay, args, false); });
  put(globalThis, "setInterval", function setInterval(callback, delay, ...args) { return start("setInterval", callback, delay, args, true); });
  const stop = id => { if (timers.delete(Number(id))) clear(Number(id)); };
  put(globalThis, "clearTimeout", function clearTimeout(id) { stop(id); });
  put(globalThis, "clearInterval", function clearInterval(id) { stop(id); });
  put(globalThis, "queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask needs a function");
    resolved().then(() => { callback(); }).catch(error => { failed(error); });
  });
  let failure;
  const failed = error => { failure ??= { error }; };

  // The console writes JSON lines through the host's log.
  const levels = { log: "info", info: "info", warn: "warn", error: "error", debug: "debug", trace: "debug" };
  const console = {};
  for (const level of Object.keys(levels)) {
    put(console, level, { [level](...args) { log(levels[level], args); } }[level]);
  }
  put(globalThis, "console", console);

  class ExceptionError extends Error {
    constructor(message, code) {
      super(message);
      if (code !== undefined && code !== null) put(this, "code", code);
      if (typeof code === "number") put(this, "status", code);
    }
  }
  put(ExceptionError.prototype, "name", "Exception");
  const Exception = function Exception(message, code) {
    return Reflect.construct(ExceptionError, [message, code], new.target ?? Exception);
  };
  Exception.prototype = ExceptionError.prototype;
  put(ExceptionError.prototype, "constructor", Exception);
  Object.setPrototypeOf(Exception, Error);
  put(globalThis, "Exception", Exception);

  // The engine's own numbers begin with what the runtime was made with, for each run again.
  const { random } = native;
  put(Math, "random", { random() { return random(); } }.random);

  // A function of a stack may be one of the engine's own or of this prelude, which are not made for scripts to call. As of strict
  // functions elsewhere, none is told.
  Error.prepareStackTrace = (_, sites) => sites;
  const callSite = Object.getPrototypeOf(new Error().stack[0]);
  put(callSite, "getFunction", { getFunction() { return undefined; } }.getFunction);
  Error.prepareStackTrace = undefined;

  // The engine does not always let go of what these are set to, and a runtime that has objects left when it is freed ends the
  // process: it gets numbers and functions, which it counts rightly, and what else a script sets stays here.
  const settable = (name, accepted, otherwise) => {
    const { set: engineSet } = Object.getOwnPropertyDescriptor(Error, name);
    let current;
    defineProperty(Error, name, {
      configurable: true,
      enumerable: false,
      get() { return current; },
      set(value) {
        current = value;
        apply(engineSet, engineSet, [typeof value === accepted ? value : otherwise]);
      },
    });
  };
  settable("stackTraceLimit", "number", 0);
  settable("prepareStackTrace", "function", undefined);
  Error.stackTraceLimit = 50;

  // Stacks name the source; they are translated when somebody looks.
  const engineStack = Object.getOwnPropertyDescriptor(Error.prototype, "stack").get;
  defineProperty(Error.prototype, "stack", {
    configurable: true,
    enumerable: false,
    get() {
      const text = apply(engineStack, this, []);
      return typeof text === "string" ? native.stack(text) : text;
    },
    set(value) { put(this, "stack", value); },
  });

  // Made when first touched.
  const lazily = (names, source) => {
    for (const name of names) {
      defineProperty(globalThis, name, {
        configurable: true,
        enumerable: false,
        get() {
          const made = part(source);
          for (const each of names) put(globalThis, each, made[each]);
          return made[name];
        },
        set(value) { put(globalThis, name, value); },
      });
    }
  };
  lazily(["TextEncoder", "TextDecoder", "structuredClone", "atob", "btoa", "crypto"], "web");
  lazily(["URL", "URLSearchParams"], "url");
  if (fetching !== undefined) {
    native.begin = request => {
      const number = call(fetching, null, [request], make, undefined);
      return { number, answer: new PromiseOf((resolve, reject) => waiting.set(number, { resolve, reject })) };
    };
    native.cancel = number => { if (waiting.delete(number)) native.drop(number); };
    lazily(["fetch", "Headers", "Request", "Response", "AbortController", "AbortSignal"], "fetch");
  }

  // Present only to fail clearly.
  const missing = name => {
    const fail = () => {
      const error = new Error(`${name} is not available in Ambit`);
      error.code = "unsupported";
      throw error;
    };
    const get = (_, key) => (typeof key === "symbol" ? undefined : fail());
    return new Proxy(function () {}, { get, apply: fail, construct: fail });
  };
  for (const name of native.unavailable) late(name, () => missing(name));
  for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly", "InternalError", "navigator", "performance", "gc", "print"]) {
    delete globalThis[name];
  }
  freeze(native);
  // What the host uses. `spin` is how a run is ended from inside a host call: it ends at the next poll, and cannot be caught.
  return freeze({
    make,
    begin(run, args) {
      const value = run(...args);
      if (value !== null && typeof value === "object" && typeof value.then === "function") return resolved(value);
      return value;
    },
    settle(number, good, value) {
      const promise = waiting.get(number);
      waiting.delete(number);
      if (promise) (good ? promise.resolve : promise.reject)(value);
    },
    fire(id) {
      const entry = timers.get(id);
      if (!entry) return;
      if (entry.again) timer(id, entry.wait); else timers.delete(id);
      entry.callback(...entry.args);
    },
    failure() { return failure; },
    // A runtime that serves many runs has at once what others get when a script touches it.
    ready() {
      const methods = native.methods();
      for (let i = 0; i < methods.length; i += 2) reflectGet(prototype(methods[i]), methods[i + 1]);
    },
    spin() { for (;;); },
    fail() { throw undefined; },
    native,
  });
}
