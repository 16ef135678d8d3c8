const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Sends a message of every type; what the user said is in the text and in names. */
export function Create(ctx, messages) {
  const said = String(messages[messages.length - 1]?.content ?? "");
  const all = [
    { type: "text", props: { content: `**Text** ${said}\n\n\`\`\`json\n{"a": 1}\n\`\`\`` } },
    { type: "thinking", props: { content: "I **think**" } },
    { type: "loading", props: { message: `Loaded ${said}`, done: true } },
    { type: "error", props: { message: `It failed ${said}`, code: "broken" } },
    { type: "image", props: { url: PIXEL, alt: "A pixel" } },
    { type: "image", props: { url: "https://example.org/far.png", alt: "Far away" } },
    { type: "audio", props: { url: "javascript:document.title='run'" } },
    { type: "video", props: { url: "https://example.org/film.mp4" } },
    { type: "retrieval", props: { query: said, sources: [{ title: `Source ${said}`, url: "https://example.org/", score: 0.9 }], total_results: 1 } },
    { type: "action", props: { name: `navigate ${said}`, payload: { to: said } } },
    { type: `chart ${said}`.slice(0, 100), props: { url: "javascript:document.title='run'", points: [1, 2] } },
  ];
  all.forEach((message) => ctx.Send(message));
  ctx.Send({ type: "event", props: { event: "progress", message: "half" } });
  const block = ctx.BlockID();
  ctx.Send("In a block, one", block);
  ctx.Send("In a block, two", block);
  const id = ctx.SendStream("To be");
  ctx.End(id);
  ctx.Append(id, " changed");
  ctx.agent.Call("lawyer", [{ role: "user", content: "May I?" }]);
  return null;
}
