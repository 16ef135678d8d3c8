export function Create(ctx) {
  ctx.Send({ type: "image", props: { url: "https://example.com/cat.png", alt: "a cat" } });
  const table = ctx.SendStream({ type: "table", props: { rows: [] } });
  ctx.Append(table, [{ name: "Ann" }], "rows");
  ctx.Set(table, "Bob", "rows.0.name");
  ctx.Merge(table, { meta: { cached: true } });
  ctx.End(table);
  ctx.Send({ type: "event", props: { event: "my_event", data: { a: 1 } } });
  const open = ctx.SendStream("left open");
  ctx.Send({ type: "error", props: { message: "out of stock", code: "stock" } });
  ctx.Append(open, " …");
}
