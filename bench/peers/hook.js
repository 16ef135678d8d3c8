// What whole turns run before the model and behind it, and W7, in Ambit and in its peer, the first function of: 3 memory calls,
// 1 trace node, 2 log lines, messages in and out.
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

function Next(ctx, payload) {
  return { data: { said: payload.completion.content.length } };
}
