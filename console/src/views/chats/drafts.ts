// What was written and not sent, in this tab alone.

const PREFIX = "ambit.draft.";

export function draft(chat: string): string {
  return sessionStorage.getItem(PREFIX + chat) ?? "";
}

export function keepDraft(chat: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(PREFIX + chat);
    else sessionStorage.setItem(PREFIX + chat, text);
  } catch {
    // The storage is full: a draft is not worth more than that.
  }
}
