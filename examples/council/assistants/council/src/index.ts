import type { Context, Message } from "@ambit/runtime";

const SPECIALISTS = ["engineer", "lawyer", "gardener"];

/** Before the model: all specialists think at once, unseen; what they say becomes part of what the model is told. */
export function Create(ctx: Context, messages: Message[]) {
  const voices = ctx.agent.All(SPECIALISTS.map((agent) => ({ agent, messages })));
  const said = SPECIALISTS.map((agent, at) => {
    const voice = voices[at];
    return `${agent}: ${voice?.error ? `(not available: ${voice.error})` : voice?.content}`;
  });
  ctx.Send(`I have asked ${SPECIALISTS.length} specialists.`);
  const question = messages[messages.length - 1];
  const told = `${question?.content}\n\nYour specialists said:\n${said.join("\n")}`;
  return { messages: [...messages.slice(0, -1), { role: "user", content: told }] };
}
