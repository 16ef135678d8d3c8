export function Find(id: string) {
  return { id, state: "sent" };
}

export function Summary(order: string) {
  return `Order ${order}`;
}
