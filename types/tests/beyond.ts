// What the reference does not show: globals, ambient names, and what must not type-check.

import { log, time, All, Exception, Store, type CreateHook, type NextHook } from "@ambit/runtime";
import { Process as run, type Context as YaoContext } from "@yao/runtime";

export const Create: CreateHook = async (ctx, messages, options) => {
  const made = new Context({ chat_id: "c1", metadata: { a: 1 } });
  made.Send("discarded");
  made.Release();
  log.Info("%s has %d messages", ctx.assistant_id, messages.length);
  time.Sleep(10);
  const title: string = $L("title");
  const who: string | undefined = Authorized().user_id;
  if (!who) throw new Exception(title, 403);
  if (options.mode === "strict") throw Exception("no", "not_allowed");
  const same: YaoContext = ctx;
  run("scripts.tools.Add", 1, 2);
  time.After(100, "scripts.tools.Add", 1, 2);
  const sums: number[] = All([{ process: "scripts.tools.Add", args: [1, 2], timeout: 5 }]).map((one) => one.data);
  const first = Race([{ process: "scripts.tools.Add" }])[0]?.error;
  const cache: Store = Store("cache");
  cache.Set("sums", sums, 60);
  cache.GetSet("first", (key: string) => key + first);
  http.Get("https://example.com", { q: 1 });
  ctx.trace.Add({}, "step").Info("a").SetOutput(1).Complete();
  const board = ctx.trace.CreateSpace({ label: "Board" });
  board.Set("k", await fetch("https://example.com").then((answer) => answer.json()));
  return { metadata: { same: same.chat_id, id: crypto.randomUUID() } };
};

export const Next: NextHook = (ctx, payload) => {
  if (payload.error) return { data: payload.error };
  ctx.memory.user.Set("k", 1, "5m");
  ctx.memory.chat.Push("l", [1, 2]);
  const found: string[] = ctx.memory.team.Keys("a:*");
  return found.length > 0 ? { delegate: { agent_id: "other", messages: payload.messages } } : null;
};

export function ambient(ctx: agent.Context, payload: YaoAgent.NextHookPayload): agent.Next {
  return { data: [ctx.chat_id, payload.error] };
}

export function wrong(ctx: Context) {
  // @ts-expect-error a key is a text
  ctx.memory.user.Get(1);
  // @ts-expect-error there is no such method
  ctx.Sned("x");
  // @ts-expect-error a request names its process
  All([{ args: [1] }]);
  // @ts-expect-error a store has no such method
  Store("cache").Gett("k");
  // @ts-expect-error a path is needed
  ctx.Set("M1", 1);
  // @ts-expect-error the option needs a label
  ctx.trace.Add({}, { type: "x" });
}

type Context = import("@ambit/runtime").Context;
