import type { Context, Message, NextHookPayload } from "@ambit/runtime";

/** Before the model: who names a department is there at once, and no model is asked. */
export function Create(ctx: Context, messages: Message[]) {
  const said = String(messages[messages.length - 1]?.content ?? "");
  const department = said.match(/^(sales|repairs)\b/i)?.[1].toLowerCase();
  if (!department) {
    return null;
  }
  return { delegate: { agent_id: department, messages } };
}

/** After the model: what it has promised. The colleague sees what the caller has said, and says the rest of the answer. */
export function Next(ctx: Context, payload: NextHookPayload) {
  const promise = String(payload.completion?.content ?? "");
  const department = promise.match(/colleague from (sales|repairs)/i)?.[1].toLowerCase();
  if (!department) {
    return null;
  }
  const messages = payload.messages.filter((message) => message.role !== "system");
  return { delegate: { agent_id: department, messages, options: { metadata: { from: "reception" } } } };
}
