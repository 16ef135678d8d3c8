// What a client of the `ai` package holds, in the form in which the server lists it: texts that were sent in several parts are
// joined, and what was replaced is gone.

export const json = (value) => JSON.parse(JSON.stringify(value));

const messageOf = (part) => part.replace(/\.[cr]\d+$/, "");

/** The parts of an answer that came of these chunks. */
export function whole(message, chunks) {
  const begun = chunks.filter((chunk) => /^(text-start|reasoning-start|file)$/.test(chunk.type));
  const ids = begun.map((chunk) => chunk.id ?? "");
  let parts = [];
  for (const part of json(message.parts)) {
    const id = /^(text|reasoning|file)$/.test(part.type) ? ids.shift() : (part.id ?? "");
    const goesOn = /\.c\d+$/.test(id);
    const first = parts.findLast((known) => goesOn && messageOf(known.id) === messageOf(id));
    if (first) {
      first.part.text += part.text;
      continue;
    }
    // Version 6.0.0 keeps what a model wrote apart.
    if (part.state === "output-error" && part.input === undefined) part.input = part.rawInput;
    delete part.rawInput;
    parts.push({ id, part });
  }
  for (const { data } of chunks.filter((chunk) => chunk.type === "data-replaced")) {
    const isGone = (id) => id === data.id || (/\.c\d+$/.test(id) && messageOf(id) === messageOf(data.id));
    parts = parts.filter(({ id }) => !isGone(id));
  }
  return parts.map(({ part }) => part);
}
