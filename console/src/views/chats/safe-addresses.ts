// Which addresses of messages may be opened or loaded (console.md §3.1).

/** What a link may lead to; null for every other scheme. */
export function safeLink(value: unknown): string | null {
  return typeof value === "string" && /^(https?:|mailto:)/i.test(value) ? value : null;
}

const DATA: Readonly<Record<string, RegExp>> = {
  image: /^data:image\/(png|jpeg|gif|webp|avif|bmp)[;,]/i,
  audio: /^data:audio\//i,
  video: /^data:video\//i,
};

/** Media that stand in the message itself are shown at once; others are links. */
export function safeMedia(type: string, value: unknown): string | null {
  return typeof value === "string" && DATA[type]?.test(value) ? value : null;
}
