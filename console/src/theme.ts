// Puts the chosen theme on the page; `system` leaves it to the browser's media query.

import type { Theme } from "./preferences.svelte";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}
