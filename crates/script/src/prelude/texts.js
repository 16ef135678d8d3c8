// What the engine does with texts in one piece, without asking whether the run must end: here it is done step by step, or refused
// beyond a bound.

export function install(native) {
  const { compile, count, guard, isRegExp, patterned, tick } = native;
  const { Number, Object, RegExp, Symbol } = globalThis, { apply, defineProperty } = Reflect;
  // Work that the engine may do in one piece: comparisons of characters.
  const WORK = 2 ** 26;
  const CHARACTERS = 1 << 20;

  // Searching costs the product of both lengths at worst. Beyond a bound it is done by Knuth, Morris and Pratt.
  const text = String.prototype;
  const { charCodeAt, slice, indexOf, includes, lastIndexOf, split, replace, replaceAll, normalize, localeCompare } = text;
  const { toLowerCase, toUpperCase, toLocaleLowerCase, toLocaleUpperCase, repeat, padStart, padEnd } = text;
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
  // The text of what a method is called on.
  const textOf = self => {
    if (self === undefined || self === null) throw new TypeError("null or undefined are forbidden");
    return `${self}`;
  };
  // How many steps for the `$` of a text the engine may take in one piece. It goes through names, and behind a `$<` without `>`
  // to the end.
  const STEPS = 1 << 22;
  const isLong = (by, matches) => {
    let steps = 0, close = 0;
    for (let at = -1; steps <= STEPS && (at = apply(indexOf, by, ["$", at + 1])) >= 0;) {
      steps += matches;
      if (by[at + 1] !== "<") continue;
      if (close >= 0 && close <= at) close = apply(indexOf, by, [">", at]);
      steps += matches * ((close < 0 ? by.length : close) - at >>> 4);
    }
    return steps > STEPS;
  };
  // The function that replaces a match as a text does.
  const substituting = by => (...given) => {
    const hasGroups = typeof given[given.length - 2] !== "number", count = given.length - (hasGroups ? 3 : 2);
    const matched = given[0], index = given[count], string = given[count + 1], groups = given[count + 2];
    if (hasGroups && groups === null) throw new TypeError("cannot convert to object");
    const digit = at => (at < by.length ? code(by, at) - 48 : -1), isDigit = value => value >= 0 && value <= 9;
    let made = "", end = 0, close = 0;
    for (;;) {
      const at = apply(indexOf, by, ["$", end]);
      if (at < 0 || at + 1 === by.length) return made + apply(slice, by, [end]);
      const sign = by[at + 1];
      let piece = `$${sign}`, group = digit(at + 1);
      made += apply(slice, by, [end, at]);
      end = at + 2;
      if (sign === "$") piece = sign;
      else if (sign === "&") piece = matched;
      else if (sign === "`") piece = apply(slice, string, [0, index]);
      else if (sign === "'") piece = apply(slice, string, [index + matched.length]);
      else if (isDigit(group)) {
        const next = digit(end), both = group * 10 + next;
        if (isDigit(next) && both > 0 && both < count) { group = both; end++; }
        if (group > 0 && group < count) piece = given[group] ?? "";
      } else if (sign === "<" && hasGroups) {
        if (close >= 0 && close < end) close = apply(indexOf, by, [">", end]);
        if (close >= 0) {
          const value = groups[apply(slice, by, [end, close])];
          piece = value === undefined ? "" : `${value}`;
          end = close + 1;
        }
      }
      made += piece;
    }
  };
  // What replaces so many matches at most: the engine asks at each call of a function.
  const replacement = (by, matches) => {
    if (typeof by === "function") return by;
    const text = `${by}`;
    return isLong(text, matches) ? substituting(text) : text;
  };
  // What is searched in and for becomes a text once: an object may give a longer one later. `symbol` names the method by which
  // what is searched for searches by itself.
  const searching = (original, find, self, args, symbol) => {
    const wanted = args[0];
    if (typeof self === "string" && typeof wanted === "string") {
      const most = original === replace ? 1 : self.length / (wanted.length || 1) + 1;
      if (symbol === Symbol.replace) args[1] = replacement(args[1], most);
      if (heavy(self, wanted)) return find(self, wanted, args[1]);
      tick(self.length);
      return apply(original, self, args);
    }
    const string = textOf(self), own = symbol !== undefined && Object(wanted) === wanted ? wanted[symbol] : undefined;
    if (own !== undefined && own !== null) {
      const isWhole = original !== replaceAll || !isRegExp(wanted) || apply(includes, `${wanted.flags}`, ["g"]);
      if (!isWhole) throw new TypeError("regexp must have the 'g' flag");
      return apply(own, wanted, [self, args[1]]);
    }
    if (original === split && wanted === undefined) return apply(split, string, args);
    args[0] = `${wanted}`;
    return searching(original, find, string, args, symbol);
  };
  const pieces = function* (string, part) {
    let end = 0;
    for (const at of places(string, part)) {
      if (at < end) continue;
      yield [apply(slice, string, [end, at]), at];
      end = at + part.length;
    }
    yield [apply(slice, string, [end]), -1];
  };
  const splitting = (string, wanted, limit) => {
    const found = [], most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0;
    for (const [piece] of pieces(string, wanted)) { if (found.length >= most) break; found.push(piece); }
    return found;
  };
  const replacing = name => (string, wanted, by) => {
    const made = [], replacer = typeof by === "function" ? by : substituting(by);
    let end = 0;
    for (const at of places(string, wanted)) {
      if (at < end) continue;
      made.push(apply(slice, string, [end, at]), `${replacer(wanted, at, string)}`);
      end = at + wanted.length;
      if (name === "replace") break;
    }
    made.push(apply(slice, string, [end]));
    return made.join("");
  };
  // Putting marks of one character in order costs the square of their number.
  let marks;
  const normal = (string, name) => {
    if (string.length > CHARACTERS) throw new RangeError(`${name} of more than ${CHARACTERS} characters is not available`);
    if (string.length < 200) return;
    marks ??= /\p{M}{200}/u;
    if (marks.test(string)) throw new RangeError(`${name} of a character with 200 marks is not available`);
    tick(string.length << 2);
  };
  const made = (original, self, args) => {
    const text = apply(original, self, args);
    tick(text.length);
    return text;
  };
  // A text that is searched for as a regular expression becomes one.
  const matching = (original, symbol, self, pattern) => {
    if (self === undefined || self === null || isRegExp(pattern)) return apply(original, self, [pattern]);
    const own = Object(pattern) === pattern ? pattern[symbol] : undefined;
    return own == null ? apply(original, self, patterned([pattern])) : apply(own, pattern, [self]);
  };
  const { match, matchAll, search } = text;
  guard(String, {
    raw(strings) {
      const { raw: parts } = strings, length = count(parts, "raw");
      let made = "";
      for (let i = 0; i < length; i++) made += `${parts[i]}${i + 1 < length && i + 1 < arguments.length ? arguments[i + 1] : ""}`;
      return made;
    },
  });
  guard(text, {
    match(pattern) { return matching(match, Symbol.match, this, pattern); },
    matchAll(pattern) { return matching(matchAll, Symbol.matchAll, this, pattern); },
    search(pattern) { return matching(search, Symbol.search, this, pattern); },
    indexOf(part) { return searching(indexOf, (string, part, at) => first(string, part, position(at, 0)), this, arguments); },
    includes(part) {
      const own = Object(part) === part ? part[Symbol.match] : false;
      if (own === undefined ? isRegExp(part) : own) throw new TypeError("regexp not supported");
      return searching(includes, (string, part, at) => first(string, part, position(at, 0)) >= 0, this, arguments);
    },
    lastIndexOf(part) { return searching(lastIndexOf, (string, part, at) => last(string, part, position(at, Infinity)), this, arguments); },
    split(part, limit) { return searching(split, (string, part) => splitting(string, part, limit), this, arguments, Symbol.split); },
    replace(part, by) {
      return searching(replace, replacing("replace"), this, arguments, Symbol.replace);
    },
    replaceAll(part, by) {
      return searching(replaceAll, replacing("replaceAll"), this, arguments, Symbol.replace);
    },
    normalize() {
      const string = textOf(this);
      normal(string, "normalize");
      return apply(normalize, string, arguments);
    },
    localeCompare(other) {
      const texts = [textOf(this), `${other}`];
      for (const each of texts) normal(each, "localeCompare");
      return apply(localeCompare, texts[0], [texts[1]]);
    },
    toLowerCase() { return made(toLowerCase, this, arguments); },
    toUpperCase() { return made(toUpperCase, this, arguments); },
    toLocaleLowerCase() { return made(toLocaleLowerCase, this, arguments); },
    toLocaleUpperCase() { return made(toLocaleUpperCase, this, arguments); },
    repeat(count) { return made(repeat, this, arguments); },
    padStart(length) { return made(padStart, this, arguments); },
    padEnd(length) { return made(padEnd, this, arguments); },
  });

  // Where `exec` of a pattern is no function, the engine does not ask between two matches, and a script that it calls may make it
  // none: the engine gets a pattern whose `exec` no script reaches.
  const patterns = RegExp.prototype, { hasOwn } = Object;
  const { exec, [Symbol.match]: matchEach, [Symbol.matchAll]: matchAllEach } = patterns;
  const { [Symbol.replace]: replaceEach, [Symbol.split]: splitEach } = patterns;
  // The engine's own `exec` calls no script.
  const isPlain = pattern => isRegExp(pattern) && !hasOwn(pattern, "exec") && pattern.exec === exec;
  const fixed = { __proto__: null, value: exec };
  // What a plain pattern is compiled to while nobody else has it: a setter of an array gets matches, and may match too.
  const blank = () => Object.defineProperties(/(?:)/, { constructor: {}, exec: fixed, flags: { value: "", writable: true } });
  let free = blank();
  const copying = (each, pattern, flags, args) => {
    pattern.lastIndex = 0;
    const copy = free ?? blank();
    free = undefined;
    apply(compile, copy, [pattern]);
    copy.flags = flags;
    const made = apply(each, copy, args);
    free = copy;
    return made;
  };
  const asking = (pattern, flags) => ({
    flags,
    get lastIndex() { return pattern.lastIndex; },
    set lastIndex(index) { pattern.lastIndex = index; },
    exec(string) {
      const { exec: own } = pattern;
      return apply(typeof own === "function" ? own : exec, pattern, [string]);
    },
  });
  const needObject = self => { if (Object(self) !== self) throw new TypeError("not an object"); };
  const speciesOf = pattern => {
    const { constructor: own } = pattern;
    if (own === undefined) return RegExp;
    needObject(own);
    return own[Symbol.species] ?? RegExp;
  };
  // What `split` and `matchAll` loop by. The engine reads from `looping` how that is made.
  const looper = (own, flags, isOurs) => {
    if (!isOurs || !isPlain(own)) return asking(own, flags);
    defineProperty(own, "exec", fixed);
    return own;
  };
  const looping = (made, flags, lastIndex) => {
    const species = function () { return made; };
    return { flags, lastIndex, constructor: { [Symbol.species]: species } };
  };
  const looped = {
    [Symbol.match](text) {
      needObject(this);
      const string = `${text}`, flags = `${this.flags}`;
      if (!isPlain(this)) return apply(matchEach, asking(this, flags), [string]);
      if (!apply(includes, flags, ["g"])) return apply(exec, this, [string]);
      return copying(matchEach, this, flags, [string]);
    },
    // The engine substitutes for all matches at the end, also for those of a script, which are of any length and may be dropped.
    [Symbol.replace](text, by) {
      needObject(this);
      const string = `${text}`, isCalled = typeof by === "function", wanted = isCalled ? by : `${by}`, flags = `${this.flags}`;
      if (!apply(includes, flags, ["g"])) return apply(replaceEach, asking(this, flags), [string, replacement(wanted, 1)]);
      if (!isPlain(this)) return apply(replaceEach, asking(this, flags), [string, isCalled ? wanted : substituting(wanted)]);
      return copying(replaceEach, this, flags, [string, replacement(wanted, string.length + 1)]);
    },
    [Symbol.split](text, limit) {
      needObject(this);
      const string = `${text}`, Species = speciesOf(this), flags = `${this.flags}`;
      const own = new Species(this, apply(includes, flags, ["y"]) ? flags : `${flags}y`);
      const most = limit === undefined ? limit : limit >>> 0;
      return apply(splitEach, looping(looper(own, flags, Species === RegExp), flags), [string, most]);
    },
    [Symbol.matchAll](text) {
      needObject(this);
      const string = `${text}`, Species = speciesOf(this), flags = `${this.flags}`, own = new Species(this, flags);
      return apply(matchAllEach, looping(looper(own, flags, Species === RegExp), flags, this.lastIndex), [string]);
    },
  };
  for (const symbol of [Symbol.match, Symbol.matchAll, Symbol.replace, Symbol.split]) patterns[symbol] = looped[symbol];
  return {};
}
