// @ts-nocheck
import { time } from "@yao/runtime";

export function act(ctx: agent.Context) {
  ctx.Send({ type: "action", props: { name: "navigate", payload: { route: "$dashboard/kb", query: { id: "7" } } } });
  time.Sleep(1);
  ctx.Send({ type: "action", props: { name: "notify.success", payload: { message: "Kept.", duration: 5 } } });
}
