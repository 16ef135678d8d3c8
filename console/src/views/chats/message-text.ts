// The words of a message, for copying, editing and telling.

import type { ChatMessage } from "./chat-types";
import type { ContentPart } from "./turn-input";

export function messageText({ type, props }: ChatMessage): string {
  const content = props.content;
  if (typeof content === "string" && (type === "text" || type === "thinking" || type === "user_input")) return content;
  return type === "user_input" ? partsOf(content).map((part) => part.text ?? "").filter((text) => text !== "").join("\n") : "";
}

/** The pictures of what a person wrote. */
export function messagePictures({ props }: ChatMessage): string[] {
  return partsOf(props.content).flatMap((part) => part.image_url?.url ?? []);
}

function partsOf(content: unknown): ContentPart[] {
  return Array.isArray(content) ? content.filter((part): part is ContentPart => typeof part === "object" && part !== null) : [];
}
