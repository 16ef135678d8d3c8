// Finds a text in a value: in its names and in what it holds.

export interface JsonMatch {
  /** Where it stands, as in `messages.0.content`. */
  path: string;
  /** What of it is around the text. */
  excerpt: string;
}

const AROUND = 40;

/** At most so many places, in the order in which they stand. */
export function findInJson(value: unknown, text: string, most: number): JsonMatch[] {
  const wanted = text.toLowerCase();
  const found: JsonMatch[] = [];
  const waiting: [string, unknown][] = [["", value]];
  for (let next = waiting.pop(); next && found.length < most && wanted !== ""; next = waiting.pop()) {
    const [path, part] = next;
    if (typeof part === "object" && part !== null) {
      const inner = Object.entries(part).map(([name, child]): [string, unknown] => [path === "" ? name : `${path}.${name}`, child]);
      for (const step of inner.reverse()) waiting.push(step);
      if (lastName(path).toLowerCase().includes(wanted)) found.push({ path, excerpt: "" });
      continue;
    }
    const written = typeof part === "string" ? part : String(part);
    const at = written.toLowerCase().indexOf(wanted);
    if (at >= 0) found.push({ path, excerpt: written.slice(Math.max(at - AROUND, 0), at + wanted.length + AROUND) });
    else if (lastName(path).toLowerCase().includes(wanted)) found.push({ path, excerpt: written.slice(0, 2 * AROUND) });
  }
  return found;
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Marks that the server sets where a field of a trace is longer than it may be. */
const CUT = /… \[cut, \d+ bytes\]$/;

/** Whether the server cut a value. */
export function isCut(value: unknown): boolean {
  if (typeof value === "string") return CUT.test(value);
  return typeof value === "object" && value !== null && "cut" in value && isCut((value as { cut: unknown }).cut);
}
