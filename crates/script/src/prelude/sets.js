// Sets that are put together. The engine compares items of one hash one by one, and a script chooses how many there are: here
// it is done item by item, so that the engine asks whether the run must end.

export function install(native) {
  const { stepped } = native, { Math } = globalThis;
  const { apply, getOwnPropertyDescriptor: describe } = Reflect;
  const SetOf = Set, sets = Set.prototype, { add, has: holds, delete: remove, values } = sets, { get: size } = describe(sets, "size");
  const sizeOf = set => apply(size, set, []), own = (set, item) => apply(holds, set, [item]);
  const each = set => stepped(apply(values, set, []));
  const collected = items => {
    const made = new SetOf();
    for (const item of items) apply(add, made, [item]);
    return made;
  };
  // What is like a set; each of its methods is read once.
  const others = other => {
    const most = +other.size;
    if (most !== most) throw new TypeError("the size of the other set is no number");
    if (most <= -1) throw new RangeError("the size of the other set is below zero");
    const { has, keys } = other;
    if (typeof has !== "function" || typeof keys !== "function") throw new TypeError("the other set needs the methods has and keys");
    return { size: Math.trunc(most), has: item => apply(has, other, [item]), items: () => stepped(apply(keys, other, [])) };
  };
  const common = function* (self, other) {
    if (sizeOf(self) <= other.size) { for (const item of each(self)) if (other.has(item)) yield item; }
    else for (const item of other.items()) if (own(self, item)) yield item;
  };
  const combine = {
    union(self, other) {
      const made = collected(each(self));
      for (const item of other.items()) apply(add, made, [item]);
      return made;
    },
    symmetricDifference(self, other) {
      const made = collected(each(self));
      for (const item of other.items()) apply(own(self, item) ? remove : add, made, [item]);
      return made;
    },
    intersection(self, other) { return collected(common(self, other)); },
    difference(self, other) {
      const made = collected(each(self));
      for (const item of common(made, other)) apply(remove, made, [item]);
      return made;
    },
    isSubsetOf(self, other) {
      if (sizeOf(self) > other.size) return false;
      for (const item of each(self)) if (!other.has(item)) return false;
      return true;
    },
    isSupersetOf(self, other) {
      if (sizeOf(self) < other.size) return false;
      for (const item of other.items()) if (!own(self, item)) return false;
      return true;
    },
    isDisjointFrom(self, other) {
      for (const _ of common(self, other)) return false;
      return true;
    },
  };
  // An existing property keeps its attributes when it is given another value.
  for (const name in combine) sets[name] = { [name](other) { return combine[name](this, others(other)); } }[name];
  return {};
}
