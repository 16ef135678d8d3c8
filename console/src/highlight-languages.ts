// The languages that code in messages is coloured in.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";

for (const [name, language] of Object.entries({ bash, json, python, sql, typescript })) hljs.registerLanguage(name, language);

/** The text as HTML with the classes of `highlight.js`. */
export function markUp(text: string, language: string): string {
  return hljs.highlight(text, { language, ignoreIllegals: true }).value;
}
