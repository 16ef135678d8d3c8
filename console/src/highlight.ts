// Colours of code in messages. The library is loaded when the first code of a language that it knows is shown.

import { codeFragment } from "./safe";

const NAMES: Readonly<Record<string, Language>> = {
  json: "json", jsonc: "json", ts: "typescript", typescript: "typescript", js: "typescript", javascript: "typescript", tsx: "typescript",
  jsx: "typescript", py: "python", python: "python", sh: "bash", shell: "bash", bash: "bash", console: "bash", sql: "sql",
};
type Language = "json" | "typescript" | "python" | "bash" | "sql";

/** Longer code stays plain: marking it up would stop the page. */
const MOST_CODE = 20_000;

/** Marks up the text of a `code` element by the language that its class names. */
export async function highlight(code: Element): Promise<void> {
  const [, name = ""] = /\blanguage-([\w+-]+)/.exec(code.className) ?? [];
  const language = Object.hasOwn(NAMES, name.toLowerCase()) ? NAMES[name.toLowerCase()] : undefined;
  const text = code.textContent ?? "";
  if (language === undefined || text.length > MOST_CODE) return;
  const { markUp } = await import("./highlight-languages");
  code.replaceChildren(codeFragment(markUp(text, language)));
}
