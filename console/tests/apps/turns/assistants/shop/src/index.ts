function Create(ctx, messages) {
  ctx.memory.user.Set("name", "Ann");
  ctx.memory.context.Set("seen", 1);
  const node = ctx.trace.Add({ query: "a lamp", nested: { place: "shelf" } }, { label: "Look around", type: "step" });
  node.Info("looking around", { shelf: 3 });
  node.Warn("it is dark");
  node.Complete({ found: true });
  const option = { label: "Fetch", type: "fetch" };
  const fetched = ctx.trace.Parallel(Array.from({ length: 7 }, (_, index) => ({ input: { index }, option })));
  for (const one of fetched) one.Complete();
  const board = ctx.trace.CreateSpace({ label: "Board" });
  board.Set("plan", { steps: ["look", "answer"] });
  return { messages };
}

function Next(ctx) {
  ctx.memory.user.Get("name");
}
