// The last answer of a chat: what regenerating puts aside, and what a screen reader hears when it is finished.

import { say } from "../../texts";
import { chatsTexts as t } from "../../texts/chats";
import type { Conversation } from "./conversation.svelte";
import { messageText } from "./message-text";

export interface LastAnswer {
  requestId: string;
  /** The message whose place a new answer takes. */
  supersede: string;
  /** Nothing where nobody waited for it. */
  spoken: string;
}

const LONGEST = 300;

export function lastAnswer(conversation: Conversation): LastAnswer | null {
  const rows = conversation.stored.filter((row) => row.superseded_by === null);
  const requestId = rows.at(-1)?.request_id ?? "";
  if (requestId === "" || conversation.isRunning) return null;
  const answer = rows.filter((row) => row.request_id === requestId && row.role === "assistant");
  const words = answer.filter((row) => row.type === "text").map(messageText).join(" ").slice(0, LONGEST);
  const isHeard = conversation.facts.has(requestId);
  return { requestId, supersede: answer[0]?.id ?? requestId, spoken: isHeard ? say(t.answerDone, { text: words }) : "" };
}
