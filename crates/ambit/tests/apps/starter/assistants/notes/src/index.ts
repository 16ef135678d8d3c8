// @ts-nocheck
import { Process, time } from "@yao/runtime";
import { act } from "./act";

/** Chooses by what was said. */
function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
  const said = messages[messages.length - 1]?.content?.toLowerCase() || "";
  if (said.includes("act")) {
    act(ctx);
  } else {
    const id = ctx.SendStream({ type: "text", props: { content: "# Notes\n\n" } });
    for (const part of ["say ", "**act**"]) {
      ctx.Append(id, part);
      time.Sleep(1);
    }
    ctx.End(id);
  }
  return { messages };
}
