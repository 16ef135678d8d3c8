// All messages of a chat as a file.

import { readMessagesAfter, type Chat } from "./chat-types";

/** Saves the chat with all its messages, those put aside too, as JSON. */
export async function exportChat(chat: Chat): Promise<void> {
  const messages = await readMessagesAfter(chat.context, 0, true);
  const content = JSON.stringify({ chat, messages }, null, 2);
  const address = URL.createObjectURL(new Blob([content], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${(chat.chat_id || chat.context).replace(/[^\w.-]/g, "_")}.json`;
  link.click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
