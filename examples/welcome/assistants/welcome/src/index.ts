import type { Context, Message } from "@ambit/runtime";

/** Before the model: greets, and remembers a name. */
export function Create(ctx: Context, messages: Message[]) {
  const said = String(messages[messages.length - 1]?.content ?? "");

  if (/forget me/i.test(said)) {
    ctx.memory.user.Clear();
    ctx.Send("Forgotten.");
    return { messages };
  }

  const told = said.match(/my name is ([^.,!?]+)/i)?.[1].trim();
  if (told) {
    ctx.memory.user.Set("name", told);
  }

  // A message that is sent piece by piece.
  const greeting = ctx.SendStream(told ? "Nice to meet you" : "Hello");
  const name = ctx.memory.user.Get("name");
  if (name) {
    ctx.Append(greeting, `, ${name}`);
  }
  ctx.Append(greeting, told ? "." : "!");
  if (!name) {
    ctx.Append(greeting, " Tell me your name: say “my name is …”.");
  }
  ctx.End(greeting);

  return { messages };
}

/** After the model: what the caller finds as `next` in the response. */
export function Next(ctx: Context) {
  return { data: { name: ctx.memory.user.Get("name") } };
}
