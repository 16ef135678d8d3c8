// Which addresses of messages may be opened or loaded (console.md §3.1).

export type MediaType = "image" | "audio" | "video";

/** What a link may lead to; null for every other scheme. */
export function safeLink(value: unknown): string | null {
  return typeof value === "string" && /^(https?:|mailto:)/i.test(value) ? value : null;
}

const DATA: Readonly<Record<MediaType, RegExp>> = {
  image: /^data:image\/(png|jpeg|gif|webp|avif|bmp)[;,]/i,
  audio: /^data:audio\//i,
  video: /^data:video\//i,
};

/** Media that stand in the message itself are shown at once. */
export function safeMedia(type: MediaType, value: unknown): string | null {
  return typeof value === "string" && DATA[type].test(value) ? value : null;
}

/** The host that a click may ask for a medium, as it is of one of these origins; null where the medium stays a link. */
export function mediaHost(value: unknown, origins: readonly string[]): string | null {
  const address = typeof value === "string" && /^https?:/i.test(value) ? URL.parse(value) : null;
  return address !== null && origins.some((origin) => URL.parse(origin)?.origin === address.origin) ? address.host : null;
}
