import type { Context, NextHookPayload } from "@ambit/runtime";

/** A colleague says the last word. */
export function Next(ctx: Context, payload: NextHookPayload) {
  return { delegate: { agent_id: "closer", messages: payload.messages } };
}
