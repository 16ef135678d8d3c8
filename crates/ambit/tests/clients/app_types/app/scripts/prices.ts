export function Total(prices: number[]): number {
  return prices.reduce((sum, price) => sum + price, 0);
}

export async function Tax(price: number, rate = 0.19) {
  return { price, tax: price * rate };
}

function Unexported(text: string) {
  return text;
}
