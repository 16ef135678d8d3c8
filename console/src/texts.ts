// The texts of the console, in `texts/`: one file for what all views share, one for each view, which is loaded with it.
// A text without one of the languages does not compile.

import { language, type Language } from "./preferences.svelte";

export type Text = Readonly<Record<Language, string>>;

/** Declares texts; names in braces, as in `{count} rows`, are filled in by `say`. */
export function texts<T extends Readonly<Record<string, Text>>>(table: T): T {
  return table;
}

/** The text in the language of the page. */
export function say(text: Text, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(text[language()], values);
}

export function fill(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}
