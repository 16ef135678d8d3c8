export function Create() {
  throw new Exception("come back tomorrow", 429);
}
