// A step that ends before the answer begins: what is saved of the trace while the turn runs.
function Create(ctx, messages) {
  return { messages };
}
