export function Count(of: string) {
  return { of, count: 3 };
}
