// Columns of a `Table`.

import type { Text } from "../texts";

export interface Column<T> {
  /** Its name for tests: the field of the row. */
  name: string;
  title: Text;
  /** A width of CSS grid: `minmax(120px, 2fr)`, `90px`. */
  width: string;
  text: (row: T) => string;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** What the pointer shows. */
  hint?: (row: T) => string;
}

/** By which column rows are in order. */
export interface Order {
  column: string;
  isDescending: boolean;
}

/** A column of a `PlainTable`, which is as wide as what is in it. */
export type PlainColumn<T> = Omit<Column<T>, "width">;
