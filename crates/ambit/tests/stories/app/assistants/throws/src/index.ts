export function Create(ctx) {
  ctx.Send("about to fail");
  const nothing: any = undefined;
  return nothing.messages;
}
