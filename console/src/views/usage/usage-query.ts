// What is asked for: dates, zone and grouping, which are the filters of the URL or their defaults.

import type { Query } from "../../api";
import type { Filters } from "../../url";

export const FIELDS = ["agent", "model", "user", "provider", "chat"] as const;
export type Field = (typeof FIELDS)[number];

export interface UsagePeriod {
  date_from: string;
  date_to: string;
  time_zone: string;
}

const DAYS = 30;
const DAY = 86_400_000;

/** The last thirty days in the zone of the browser, unless the filters say something else. */
export function periodOf(filters: Filters, now: number, zone: string): UsagePeriod {
  const time_zone = filters.time_zone ?? zone;
  const date_to = filters.date_to ?? today(now, time_zone);
  const date_from = filters.date_from ?? shiftDate(date_to, 1 - DAYS);
  return { date_from, date_to, time_zone };
}

export function fieldOf(filters: Filters): Field {
  return FIELDS.find((field) => field === filters.group_by) ?? "agent";
}

/** Up to two days are drawn by the hour. */
export function bucketOf({ date_from, date_to }: UsagePeriod): Bucket {
  return daysBetween(date_from, date_to) <= 2 ? "hour" : "day";
}

export function conditions(filters: Filters, period: UsagePeriod): Query {
  const { agent, user, chat, model, provider } = filters;
  return { ...period, agent, user, chat, model, provider };
}

export type Bucket = "day" | "hour";

/** The names of all days of the period, or of all its hours. */
export function bucketNames(period: UsagePeriod, bucket: Bucket): string[] {
  const count = Math.min(Math.max(daysBetween(period.date_from, period.date_to), 0), 3660);
  const days = Array.from({ length: count }, (_, at) => shiftDate(period.date_from, at));
  if (bucket === "day") return days;
  return days.flatMap((day) => Array.from({ length: 24 }, (_, hour) => `${day} ${String(hour).padStart(2, "0")}`));
}

/** The name of the bucket that the server's name of a day or an hour is about. */
export function bucketName(value: string): string {
  const found = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d))?/.exec(value);
  if (!found) return value;
  return found[2] === undefined ? value : `${found[1]} ${found[2]}`;
}

/** The day of a bucket. */
export function dayOf(bucket: string): string {
  return bucket.slice(0, 10);
}

function today(now: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(now);
  } catch {
    // An unknown zone: the server says so.
    return new Date(now).toISOString().slice(0, 10);
  }
}

function shiftDate(date: string, days: number): string {
  const at = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at) ? date : new Date(at + days * DAY).toISOString().slice(0, 10);
}

/** How many days there are, both ends included. */
function daysBetween(from: string, to: string): number {
  const days = (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY + 1;
  return Number.isNaN(days) ? 0 : days;
}
