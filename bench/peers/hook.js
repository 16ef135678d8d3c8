// What W7 runs, in Ambit and in its peer: 3 memory calls, 1 trace node, 2 log lines, messages in and out.
function Create(ctx, messages) {
  const visits = ctx.memory.user.Incr("visits");
  const name = ctx.memory.user.Get("name");
  ctx.memory.chat.Set("last", messages[messages.length - 1].content);
  ctx.trace.Add({ type: "hook", input: { messages: messages.length } }, { label: "Prepare" });
  console.log("visits", visits);
  console.info("prepared", { name, chat: ctx.chat_id });
  return {
    messages: messages.map(message => ({ role: message.role, content: message.content.trim() })),
    temperature: 0.2,
    metadata: { visits, name },
  };
}
