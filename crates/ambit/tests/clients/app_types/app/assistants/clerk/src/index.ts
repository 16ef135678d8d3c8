import type { Context } from "@ambit/runtime";

export function Next(ctx: Context, payload: any) {
  const [ticket] = Process("models.ticket.Get", { limit: 1 });
  const title: string = ticket.title;
  const state: "open" | "closed" | null = ticket.state;
  const price: number | null = ticket.price;
  const name: string | undefined = ticket.person?.name;
  const id: number = Process("models.ticket.Create", { title, state: "open", price: "12.50", pin: "1234" });
  const page = Process("models.person.Paginate", { withs: { tickets: {} } }, 1, 20);
  const titles: string[] = (page.data[0].tickets ?? []).map((ticket) => ticket.title);
  Process("models.ticket.Update", id, { state: "closed" });
  const total: number = Process("scripts.prices.Total", [1, 2]);
  const tax: number = Process("scripts.prices.Tax", 5).tax;
  const shout: string = Process("agents.clerk.words.Shout", "hello");
  const seen: boolean = Store("seen").Has("a");
  Process("stores.seen.Set", "a", 1);
  ctx.mcp.CallTool("desk", "find", { text: "light", labels: ["a"], most: null });
  ctx.mcp.CallTool("desk", "all");
  // What is not known is not judged.
  const roles = Process("models.__yao.role.Get");
  const text: string = Process("scripts.prices.Unexported", 1, 2, 3);
  const made: string = Process("name.of." + title, 1);
  ctx.mcp.CallTool("elsewhere", "anything", { a: 1 });
  Store("elsewhere").Get("a");

  // @ts-expect-error a title is a text
  Process("models.ticket.Create", { title: 5 });
  // @ts-expect-error a title is needed
  Process("models.ticket.Create", { state: "open" });
  // @ts-expect-error there is no such column
  Process("models.ticket.Update", id, { titel: "x" });
  // @ts-expect-error there is no such state
  Process("models.ticket.Create", { title, state: "gone" });
  // @ts-expect-error rows have no such column
  ticket.titel;
  // @ts-expect-error a password is never read
  ticket.pin;
  // @ts-expect-error it is called with numbers
  Process("scripts.prices.Total", ["1"]);
  // @ts-expect-error it returns a number
  const wrong: string = Process("scripts.prices.Total", [1]);
  // @ts-expect-error queries have no such key
  Process("models.ticket.Get", { where: [] });
  // @ts-expect-error there is no such tool
  ctx.mcp.CallTool("desk", "lose", {});
  // @ts-expect-error a text is needed
  ctx.mcp.CallTool("desk", "find", { state: "open" });
  // @ts-expect-error the arguments are needed
  ctx.mcp.CallTool("desk", "find");
  return { data: [name, price, titles, total, tax, shout, seen, roles, text, made, wrong] };
}
