import type { Context, Message } from "@ambit/runtime";

/** Before the model: what the customer says of themselves is remembered. */
export function Create(ctx: Context, messages: Message[]) {
  const said = String(messages[messages.length - 1]?.content ?? "");
  const liked = said.match(/\b(oak|brass|linen|glass)\b/i)?.[1].toLowerCase();
  if (liked) {
    ctx.memory.user.Set("likes.material", liked);
  }
  const room = said.match(/\b(bedroom|kitchen|study|hall)\b/i)?.[1].toLowerCase();
  if (room) {
    ctx.memory.user.Set("room", { name: room, height_cm: 254, dimmer: true });
  }
  ctx.memory.user.Incr("visits");
  const look = ctx.trace.Add({ material: liked ?? null, room: room ?? null }, { label: "Know the customer", type: "step" });
  look.Info("what is remembered goes into the prompt", { keys: ["likes.material", "room", "visits"] });
  look.Complete({ visits: ctx.memory.user.Get("visits") });
  return { messages };
}

/** Behind it: an order leaves a note. */
export function Next(ctx: Context) {
  ctx.memory.user.Set("last_question", { agent: "shop", answered: true });
}
