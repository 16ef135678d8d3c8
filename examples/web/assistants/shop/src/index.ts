import type { Context, Message } from "@ambit/runtime";

/** Before the model: keeps a name that the customer says. */
export function Create(ctx: Context, messages: Message[]) {
  const said = String(messages[messages.length - 1]?.content ?? "");
  const name = said.match(/my name is ([^.,!?]+)/i)?.[1].trim();
  if (name) {
    ctx.memory.user.Set("name", name);
  }
  return { messages };
}
