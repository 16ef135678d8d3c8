export function Create(ctx, messages) {
  ctx.Send("One moment, I am asking a colleague.");
  return { delegate: { agent_id: "plain", messages } };
}
