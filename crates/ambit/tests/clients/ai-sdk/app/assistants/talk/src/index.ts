function text(messages) {
  const content = messages.findLast((message) => message.role === "user")?.content;
  return typeof content === "string" ? content : "";
}

export function Create(ctx, messages) {
  const said = text(messages);
  if (said === "show") {
    ctx.Send({ type: "image", props: { url: "https://example.com/cat.png", alt: "a cat" } });
    const table = ctx.SendStream({ type: "table", props: { rows: [] } });
    ctx.Append(table, [{ name: "Ann" }], "rows");
    ctx.Set(table, "Bob", "rows.0.name");
    ctx.End(table);
    ctx.Send({ type: "action", props: { name: "navigate", payload: { to: "/" } } });
  }
  if (said === "change") {
    const shown = ctx.SendStream({ type: "loading", props: { message: "Looking" } });
    ctx.Replace(shown, { type: "text", props: { content: "Found it." } });
    ctx.End(shown);
    const chart = ctx.SendStream({ type: "table", props: { rows: [1] } });
    ctx.Replace(chart, { type: "chart", props: { bars: [1] } });
    ctx.End(chart);
  }
  if (said === "replace") {
    const draft = ctx.SendStream("A first draft");
    ctx.Replace(draft, "Other words");
    ctx.Append(draft, " that stay");
    ctx.End(draft);
  }
}

export function Next(ctx, payload) {
  if (payload.error) return null;
  if (payload.completion?.content.startsWith("amend")) {
    ctx.Append(payload.completion.message_id, " (checked)");
  }
  return { data: { length: payload.completion?.content.length ?? 0 } };
}
