// @ts-nocheck
import { agent, log, Process } from "@yao/runtime";

export function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
  const robot_id = ctx.metadata?.robot_id ?? "rex";
  log.Trace("[desk.Create] messages count=%d, robot=%s", messages.length, robot_id);
  try {
    const robot = Process("robot.Get", robot_id);
    messages = [{ role: "system", content: robot.bio }, ...messages];
  } catch (err) {
    log.Error("[desk.Create] %v", err);
    ctx.Send(`${err.message}`);
  }
  return { messages };
}

export function Next(ctx: agent.Context, payload: agent.Payload): agent.Next | null {
  const confirmed = (payload.tools ?? []).find((it: any) => (it.tool || "").endsWith("confirm_task"));
  if (!confirmed) return null;
  ctx.Send({ type: "action", props: { name: "robot.execute", payload: { goals: confirmed.arguments.goals } } });
  return { data: { confirmed: true } };
}
