function tools(ctx) {
  // List available tools
  const tools = ctx.mcp.ListTools('echo', '');
  console.log(tools.tools);

  // Call a single tool
  const result = ctx.mcp.CallTool('echo', 'ping', { count: 3 });
  console.log(result.content);

  // Call multiple tools sequentially
  const results = ctx.mcp.CallTools('echo', [
    { name: 'ping', arguments: { count: 1 } },
    { name: 'status', arguments: { verbose: true } }
  ]);

  // Call multiple tools in parallel
  const parallelResults = ctx.mcp.CallToolsParallel('echo', [
    { name: 'ping', arguments: { count: 1 } },
    { name: 'status', arguments: { verbose: false } }
  ]);

  return { tools, result, results, parallelResults };
}

function resources(ctx) {
  // List resources
  const resources = ctx.mcp.ListResources('echo', '');

  // Read a resource
  const info = ctx.mcp.ReadResource('echo', 'echo://info');
  console.log(info.contents);

  return { resources, info };
}

function prompts(ctx) {
  // List prompts
  const prompts = ctx.mcp.ListPrompts('echo', '');

  // Get a prompt with arguments
  const prompt = ctx.mcp.GetPrompt('echo', 'test_connection', {
    detailed: 'true'
  });
  console.log(prompt.messages);

  return { prompts, prompt };
}

function Create(ctx) {
  const { result } = tools(ctx);
  ctx.Send(`the server answers: ${result.data}`);
}

function Next(ctx) {
  return { data: { ...tools(ctx), ...resources(ctx), ...prompts(ctx) } };
}
