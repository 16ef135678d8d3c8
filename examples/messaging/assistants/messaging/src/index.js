function Create(ctx) {
  // Send complete message
  ctx.Send({ type: 'text', props: { content: 'Hello!' } });

  // Send with block grouping
  const block_id = ctx.BlockID();
  ctx.Send('Step 1', block_id);
  ctx.Send('Step 2', block_id);

  // Streaming message
  const msg_id = ctx.SendStream('Processing...');
  ctx.Append(msg_id, ' done!');
  ctx.End(msg_id);

  // Replace message content
  const loading_id = ctx.SendStream({
    type: 'loading',
    props: { message: 'Loading...' }
  });
  ctx.Replace(loading_id, { type: 'text', props: { content: 'Complete!' } });
  ctx.End(loading_id);
}
