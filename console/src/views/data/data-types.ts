// What the routes of data answer, and the query of rows.

import { say } from "../../texts";
import { dataTexts as t } from "../../texts/data";

export interface ModelRow {
  id: string;
  label: string | null;
  table: string;
  permission: boolean;
  /** Those that the caller may see. */
  rows: number | null;
}

/** A column, a relation or an index: its name, and what its file says of it. */
export type Named = { name: string; type?: string } & Record<string, unknown>;

export interface ModelDetails {
  id: string;
  label: string | null;
  table: string;
  permission: boolean;
  columns: Named[];
  /** Those that can be loaded with a row. */
  relations: Named[];
  indexes: Named[];
}

export type DataRow = Record<string, unknown>;

export interface RowPage {
  data: DataRow[];
  page: number;
  pagesize: number;
  pagecnt: number;
  next: number;
  prev: number;
  total: number;
  /** The constraints that cut the rows down. */
  limited_by: string[];
}

export interface Where {
  column: string;
  op: string;
  value?: string;
}

/** Operators of a query (apps.md §7.1), and whether they take a value. */
export const OPERATORS: readonly { name: string; sign: string; hasValue: boolean }[] = [
  { name: "eq", sign: "=", hasValue: true },
  { name: "ne", sign: "≠", hasValue: true },
  { name: "gt", sign: ">", hasValue: true },
  { name: "ge", sign: "≥", hasValue: true },
  { name: "lt", sign: "<", hasValue: true },
  { name: "le", sign: "≤", hasValue: true },
  { name: "match", sign: "match", hasValue: true },
  { name: "like", sign: "like", hasValue: true },
  { name: "in", sign: "in", hasValue: true },
  { name: "notin", sign: "not in", hasValue: true },
  { name: "null", sign: "null", hasValue: false },
  { name: "notnull", sign: "not null", hasValue: false },
];

/** Reads the filter `where`; null where it is none that this page wrote. */
export function parseWhere(text: string): Where[] | null {
  if (text === "") return [];
  try {
    const all: unknown = JSON.parse(text);
    return Array.isArray(all) && all.every(isWhere) ? all : null;
  } catch {
    return null;
  }
}

function isWhere(one: unknown): one is Where {
  if (typeof one !== "object" || one === null) return false;
  const { column, op, value } = one as Record<string, unknown>;
  return typeof column === "string" && OPERATORS.some(({ name }) => name === op) && (value === undefined || typeof value === "string");
}

export function formatWhere(all: readonly Where[]): string {
  return all.length === 0 ? "" : JSON.stringify(all);
}

/** A condition as people read it. */
export function whereText({ column, op, value }: Where): string {
  const sign = OPERATORS.find(({ name }) => name === op)?.sign ?? op;
  return [column, sign, ...(value === undefined ? [] : [value])].join(" ");
}

/** Operators that compare with one value of the column's own type. */
const COMPARING = ["eq", "ne", "gt", "ge", "lt", "le"];
const NUMERIC = /^(id|year|float|double|(big)?increments|(unsigned)?(tiny|small|big)?integer)$/i;

/** A condition as a query has it: with a number or a truth value where the column holds those. */
export function condition(where: Where, columns: readonly Named[]): { column: string; op: string; value?: unknown } {
  const { op, value } = where;
  const type = String(columns.find(({ name }) => name === where.column)?.type);
  if (value === undefined || !COMPARING.includes(op)) return where;
  // Beyond 2^53 a number would lose digits.
  if (NUMERIC.test(type) && value.trim() !== "" && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER) return { ...where, value: Number(value) };
  if (type === "boolean" && (value === "true" || value === "false")) return { ...where, value: value === "true" };
  return where;
}

/** The order `name` or `-name`, as a query has it. */
export function orders(order: string): { column: string; option: "asc" | "desc" }[] {
  if (order === "") return [];
  return order.startsWith("-") ? [{ column: order.slice(1), option: "desc" }] : [{ column: order, option: "asc" }];
}

/** The column that tells rows apart. */
export function keyColumn(columns: readonly Named[]): string | null {
  return columns.find(({ primary }) => primary === true)?.name ?? null;
}

/** A value in a cell; what is encrypted is said to be hidden. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (isHidden(value)) return say(t.hidden);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isHidden(value: unknown): boolean {
  return typeof value === "object" && value !== null && (value as { hidden?: unknown }).hidden === true && Object.keys(value).length === 1;
}
