/** Counts what was asked, in what the page shows. */
export function Next(ctx) {
  const notes = ctx.memory.chat.Get("notes") ?? {};
  ctx.memory.chat.Set("notes", { ...notes, asked: (notes.asked ?? 0) + 1 });
}
