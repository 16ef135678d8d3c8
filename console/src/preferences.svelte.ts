// What a person has chosen: kept in this browser, and nothing else is (console.md §1.3).

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh-cn";

interface Preferences {
  theme: Theme;
  language: Language | "system";
  /** Single letters are commands. */
  letters: boolean;
  lastAgent: string | null;
}

const KEY = "ambit.preferences";
const DEFAULTS: Preferences = { theme: "system", language: "system", letters: true, lastAgent: null };

let chosen = $state.raw<Preferences>({ ...DEFAULTS, ...stored() });

export function preferences(): Preferences {
  return chosen;
}

export function prefer(changes: Partial<Preferences>): void {
  chosen = { ...chosen, ...changes };
  localStorage.setItem(KEY, JSON.stringify(chosen));
}

/** Chosen, else the browser's, else English. */
export function language(): Language {
  if (chosen.language !== "system") return chosen.language;
  return navigator.languages.some((tag) => tag.toLowerCase().startsWith("zh")) && !prefersEnglish() ? "zh-cn" : "en";
}

/** Empties both storages: on logout. */
export function forgetEverything(): void {
  localStorage.clear();
  sessionStorage.clear();
  chosen = DEFAULTS;
}

function prefersEnglish(): boolean {
  const first = navigator.languages.find((tag) => /^(en|zh)\b/i.test(tag));
  return first?.toLowerCase().startsWith("en") ?? false;
}

function stored(): Partial<Preferences> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>;
  } catch {
    return {};
  }
}
