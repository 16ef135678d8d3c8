export function Next(ctx, payload) {
  if (payload.error) {
    ctx.Send(`instead: ${payload.error_stage}`);
    return { data: { recovered: payload.error } };
  }
  return null;
}
