/** Adds a note to what the page shows. */
export function Add(text, ctx) {
  const notes = ctx.memory.chat.Get("notes") ?? {};
  const items = [...(notes.items ?? []), text];
  ctx.memory.chat.Set("notes", { ...notes, items });
  return { count: items.length };
}

export function Lose() {
  throw new Error("there is no pencil");
}
