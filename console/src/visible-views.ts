// The views that the caller may see.

import { isGranted } from "./session.svelte";
import { VIEWS, type View } from "./views";

export function visibleViews(): View[] {
  return VIEWS.filter((view) => view.operation === null || isGranted(view.operation));
}
