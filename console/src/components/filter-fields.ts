// Fields of `Filters`.

import type { Text } from "../texts";

export interface FilterField {
  /** The route's parameter. */
  name: string;
  label: Text;
  type?: "search" | "date" | "datetime-local";
  /** A choice instead of a text. */
  options?: readonly { value: string; label: Text | string }[];
  /** What the choice says where nothing is chosen. */
  unset?: Text;
  /** Values that exist and begin so. */
  suggest?: (prefix: string) => Promise<string[]>;
}
