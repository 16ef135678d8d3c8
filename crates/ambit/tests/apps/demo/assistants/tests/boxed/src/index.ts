function Create(ctx: Context, messages: Message[], options: CreateOptions): CreateResponse | null {
  if (!ctx.sandbox) {
    log.Warn("[boxed] ctx.sandbox not available");
    ctx.Send("There is no sandbox.");
    return { messages };
  }
  ctx.sandbox.WriteFile("made.txt", "made");
  return { messages };
}

function Complete(ctx: Context, payload: any, options: CompleteOptions): CompleteResponse | null {
  return null;
}
