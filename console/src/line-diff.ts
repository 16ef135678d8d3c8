// The difference of two texts by lines. It is loaded when there is one to show.

import { diffLines } from "diff";

export interface DiffLine {
  change: "same" | "added" | "gone";
  text: string;
}

/** After this time no difference is looked for: all lines are other ones then. */
const TIMEOUT = 500;

export function lineDiff(before: string, now: string): DiffLine[] {
  const parts = diffLines(ended(before), ended(now), { timeout: TIMEOUT });
  if (!parts) return [...lines(before, "gone"), ...lines(now, "added")];
  return parts.flatMap((part) => lines(part.value, part.added ? "added" : part.removed ? "gone" : "same"));
}

/** Two texts do not differ in that only one ends its last line. */
const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

function lines(text: string, change: DiffLine["change"]): DiffLine[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n").map((line) => ({ change, text: line }));
}
