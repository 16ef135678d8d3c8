// Pass data between Create and Next hooks
function Create(ctx, messages) {
  ctx.memory.context.Set('original_query', messages[0]?.content);
  ctx.memory.context.Set('request_time', Date.now());
  return { messages };
}

function Next(ctx, payload) {
  const query = ctx.memory.context.Get('original_query');
  const duration = Date.now() - ctx.memory.context.Get('request_time');
  console.log(`Query: ${query}, Duration: ${duration}ms`);
}
