export function Next(ctx, payload) {
  ctx.Append(payload.completion.message_id, " (checked)");
  return { data: { length: payload.completion.content.length } };
}
