export function Find(item: string) {
  return { item, count: 12 };
}
