/**
 * Create Hook - Preprocess messages and configure the request
 */
function Create(ctx, messages) {
  const user_query = messages[messages.length - 1]?.content || '';

  // Store data for Next hook
  ctx.memory.context.Set('original_query', user_query);
  ctx.memory.context.Set('request_time', Date.now());

  // Add trace node
  const node = ctx.trace.Add(
    { query: user_query },
    { label: 'Create Hook', type: 'preprocessing', icon: 'play' }
  );

  // Check if search is needed
  if (user_query.includes('search') || user_query.includes('find')) {
    node.Info('Search mode enabled');
    return {
      messages,
      mcp_servers: [{ server_id: 'search_engine' }],
      prompt_preset: 'search.assistant'
    };
  }

  node.Complete({ mode: 'standard' });
  return { messages, temperature: 0.7 };
}

/**
 * Next Hook - Process LLM response
 */
function Next(ctx, payload) {
  const { completion, tools, error } = payload;

  // Retrieve data from Create hook
  const duration = Date.now() - ctx.memory.context.Get('request_time');

  // Handle errors
  if (error) {
    return { data: { status: 'error', message: error } };
  }

  // Process tool results
  if (tools && tools.length > 0) {
    const msg_id = ctx.SendStream('## Results\n\n');
    tools.forEach((t, i) => {
      ctx.Append(
        msg_id,
        `**${i + 1}. ${t.tool}**: ${JSON.stringify(t.result)}\n`
      );
    });
    ctx.End(msg_id);

    return { data: { status: 'success', duration_ms: duration } };
  }

  // Return null for standard LLM response
  return null;
}
