function Create(ctx) {
  // User preferences (persistent)
  ctx.memory.user.Set('theme', 'dark');
  const theme = ctx.memory.user.Get('theme');

  // Rate limiting with counters
  const count = ctx.memory.user.Incr('api_calls_today');
  if (count > 100) throw new Error('Rate limit exceeded');

  ctx.Send(`theme ${theme}, call ${count}`);
}
