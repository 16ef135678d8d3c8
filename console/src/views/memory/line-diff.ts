// The difference of two texts by lines. It is loaded when there is one to show.

import { diffLines } from "diff";

export interface DiffLine {
  kind: "added" | "removed" | "equal";
  text: string;
}

/** After this time no difference is looked for: all lines are other ones then. */
const TIMEOUT = 500;

export function lineDiff(before: string, after: string): DiffLine[] {
  const parts = diffLines(ended(before), ended(after), { timeout: TIMEOUT });
  if (!parts) return [...lines(before, "removed"), ...lines(after, "added")];
  return parts.flatMap((part) => lines(part.value, part.added ? "added" : part.removed ? "removed" : "equal"));
}

/** Two texts do not differ in that only one ends its last line. */
const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

function lines(text: string, kind: DiffLine["kind"]): DiffLine[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n").map((line) => ({ kind, text: line }));
}
