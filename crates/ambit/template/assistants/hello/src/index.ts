import type { Context, Message, NextHookPayload } from "@ambit/runtime";

/** Before the model. What it returns changes the request: messages, temperature, connector … */
export function Create(ctx: Context, messages: Message[]) {
  const turns = ctx.memory.chat.Incr("turns");
  ctx.trace.Info(`turn ${turns} of this chat`);
  return { messages, temperature: 0.7 };
}

/** After the model. `null` keeps its answer; `{ data }` becomes the response's `next`. */
export function Next(ctx: Context, payload: NextHookPayload) {
  if (payload.error) {
    ctx.Send(`The model could not answer: ${payload.error}`);
    return { data: { error: payload.error } };
  }
  return null;
}
