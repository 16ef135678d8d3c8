// Where the page is, as a state that components read, and the ways to go elsewhere.

import { formatHash, parseHash, type Filters, type Route } from "./url";

let current = $state.raw<Route>(parseHash(location.hash));

addEventListener("hashchange", () => {
  current = parseHash(location.hash);
});
addEventListener("popstate", () => {
  current = parseHash(location.hash);
});

export function route(): Route {
  return current;
}

/** Opens a view or an item of it: a new entry of the history. */
export function open(view: string, id: string | null = null, filters: Filters = {}): void {
  go(formatHash(view, id, filters), "pushState");
}

/** Changes filters of what is open, and keeps the others: no new entry of the history. An empty text lifts a filter. */
export function filter(changes: Filters): void {
  go(formatHash(current.view, current.id, { ...current.filters, ...changes }), "replaceState");
}

/** Puts another URL in the place of this one. */
export function redirect(view: string, id: string | null = null, filters: Filters = {}): void {
  go(formatHash(view, id, filters), "replaceState");
}

function go(hash: string, method: "pushState" | "replaceState"): void {
  if (hash !== location.hash) history[method](null, "", hash);
  current = parseHash(hash);
}
