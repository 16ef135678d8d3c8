/** Shows what the question asks for. */
export function Create(ctx, messages) {
  const asked = messages[messages.length - 1].content;
  if (asked === "activities") {
    const table = ctx.SendStream({ type: "table", props: { rows: [], "a/b~c": 1 } });
    ctx.Append(table, [{ name: "Ann" }, { name: "Bob" }], "rows");
    ctx.Set(table, "Eve", "rows.1.name");
    ctx.Merge(table, { meta: { cached: true } });
    ctx.End(table);
    ctx.Send({ type: "image", props: { url: "https://example.com/cat.png", alt: "a cat" } });
    const status = ctx.SendStream({ type: "status", props: { text: "working" } });
    ctx.Replace(status, { type: "status", props: { text: "done" } });
    ctx.End(status);
    ctx.Send({ type: "action", props: { name: "navigate", payload: { to: "/" } } });
  }
  if (asked === "replaced") {
    const loading = ctx.SendStream({ type: "loading", props: { message: "Searching" } });
    ctx.Replace(loading, { type: "text", props: { content: "Found it" } });
    ctx.Append(loading, ".");
    ctx.End(loading);
    const text = ctx.Send("It is 4.");
    ctx.Replace(text, { type: "text", props: { content: "It is 5." } });
  }
  if (asked === "subagents") {
    ctx.agent.Call("colleague", [{ role: "user", content: "think" }]);
    ctx.agent.All(
      ["slow", "think"].map((content) => ({
        agent: "colleague",
        messages: [{ role: "user", content }],
        options: { skip: { output: false } },
      })),
    );
    ctx.Send("All have answered.");
  }
}

export function Next() {
  return { data: { mood: "good" } };
}
