import type { Context } from "@ambit/runtime";

const STOCK: Record<string, { count: number; price: number }> = {
  lamp: { count: 12, price: 34.5 },
  bulb: { count: 200, price: 2 },
};

/** What there is of an item. */
export function Stock(item: string) {
  const found = STOCK[item];
  if (!found) throw new Error(`there is no ${item}, only: ${Object.keys(STOCK).join(", ")}`);
  return { item, ...found };
}

/** Whom the agent talks to: what an earlier turn kept in the user's memory, in this chat or another one. */
export function Customer(ctx: Context) {
  return { name: ctx.memory.user.Get("name") ?? null };
}
