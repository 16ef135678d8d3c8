// What a person sends: text and pictures, and the choices of the panel.

import { send } from "../../api";
import { chatQuery } from "./chat-types";

export type BusyChoice = "reject" | "queue" | "interrupt";

export interface ContentPart {
  type: string;
  text?: string;
  image_url?: { url: string };
}

export interface TurnInput {
  text: string;
  /** As `data:` addresses. */
  pictures: readonly string[];
}

export interface TurnChoices {
  agent: string;
  connector: string;
  mode: string;
  locale: string;
  /** JSON, or nothing. */
  metadata: string;
  on_busy: BusyChoice;
  skip: readonly string[];
  isTemporary: boolean;
}

export const NO_CHOICES: TurnChoices = {
  agent: "", connector: "", mode: "", locale: "", metadata: "", on_busy: "reject", skip: [], isTemporary: false,
};

/** What is left out, by the names of `skip`. */
export const SKIPS = ["history", "trace", "output", "search", "keyword", "content_parsing"] as const;

/** Where a turn goes: a chat by its row, or a new one, by its name if it has one. */
export interface TurnPlace {
  context: string | null;
  name: string | null;
}

export interface StartedTurn {
  requestId: string;
  chat: string;
}

export function contentOf({ text, pictures }: TurnInput): string | ContentPart[] {
  if (pictures.length === 0) return text;
  const words: ContentPart[] = text === "" ? [] : [{ type: "text", text }];
  return [...words, ...pictures.map((url) => ({ type: "image_url", image_url: { url } }))];
}

/**
 * Starts a turn and leaves its stream to who follows it by its id. A lost connection sends the same again under the same key, and the
 * server joins it. Without an input the place of `supersede` is answered again.
 */
export async function startTurn(
  place: TurnPlace,
  choices: TurnChoices,
  input: TurnInput | null,
  supersede: string | null,
  signal?: AbortSignal,
): Promise<StartedTurn> {
  const body = {
    assistant_id: choices.agent,
    model: choices.connector || choices.agent,
    stream: true,
    accept: "cui-web",
    messages: input ? [{ role: "user", content: contentOf(input) }] : [],
    ...(place.context === null && place.name !== null && { chat_id: place.name }),
    ...(supersede !== null && { supersede }),
    ...bodyOfChoices(choices),
  };
  const answer = await send("POST", "/chat/completions", {
    body,
    query: place.context === null ? {} : chatQuery(place.context),
    idempotencyKey: randomKey(),
    ...(signal && { signal }),
  });
  // Leaving is not cancelling: the turn goes on.
  void answer.body?.cancel();
  return { requestId: answer.headers.get("x-ambit-request") ?? "", chat: answer.headers.get("x-ambit-chat") ?? "" };
}

function bodyOfChoices({ mode, locale, metadata, on_busy, skip }: TurnChoices): Record<string, unknown> {
  return {
    on_busy,
    ...(mode !== "" && { mode }),
    ...(locale !== "" && { locale }),
    ...(metadata.trim() !== "" && { metadata: JSON.parse(metadata) as unknown }),
    ...(skip.length > 0 && { skip: Object.fromEntries(skip.map((name) => [name, true])) }),
  };
}

/** 128 random bits; `crypto.randomUUID` is absent on pages without TLS. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
