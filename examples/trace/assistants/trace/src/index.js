function Create(ctx) {
  // Create trace node
  const node = ctx.trace.Add(
    { query: 'search term' },
    { label: 'Search', type: 'search', icon: 'search' }
  );

  // Add logs
  node.Info('Starting search');
  node.Debug('Query validated');

  // Complete with output
  node.Complete({ results: 10 });

  // Parallel operations
  const nodes = ctx.trace.Parallel([
    { input: { url: 'api1' }, option: { label: 'API 1' } },
    { input: { url: 'api2' }, option: { label: 'API 2' } }
  ]);

  ctx.Send(`traced ${nodes.length + 1} nodes`);
}
