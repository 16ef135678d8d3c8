export function Shout(text: string) {
  return text.toUpperCase();
}
