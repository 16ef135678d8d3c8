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

/** Each of them as a list with names, or by name. */
export type NamedList = Named[] | Record<string, unknown>;

export interface ModelDetails {
  id: string;
  label: string | null;
  table: string;
  permission: boolean;
  columns: NamedList;
  relations?: NamedList;
  indexes?: NamedList;
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
  limited_by?: unknown;
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

export function named(all: NamedList | undefined): Named[] {
  if (all === undefined || Array.isArray(all)) return all ?? [];
  return Object.entries(all).map(([name, value]) => ({ ...(typeof value === "object" ? value : { value }), name }));
}

/** The column that tells rows apart. */
export function keyColumn(columns: readonly Named[]): string | null {
  const found = columns.find(({ primary, type }) => primary === true || /^(id|(big)?increments)$/i.test(String(type)));
  return found?.name ?? null;
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

/** What cut the rows down, in a line; empty if nothing did. */
export function limitText(limit: unknown): string {
  if (typeof limit === "string") return limit;
  if (Array.isArray(limit)) return limit.map(limitText).filter((one) => one !== "").join(", ");
  if (typeof limit !== "object" || limit === null) return "";
  const set = Object.entries(limit).filter(([, value]) => value !== false && value !== null && value !== undefined);
  return set.map(([name, value]) => (value === true ? name : `${name}: ${JSON.stringify(value)}`)).join(", ");
}
