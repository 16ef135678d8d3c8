// Splits usage by time and a field, and writes it as CSV, in front of a server that does neither yet.

import { putInFront } from "./in-front.mjs";

const HOUR = 3_600_000;
const COLUMNS = ["records", "prompt_tokens", "completion_tokens", "total_tokens"];

/** Lets the console of `server` speak to it, unless the server splits itself. */
export async function splitUsage(server) {
  if ((await fetch(`${server.api}/usage?group_by=day,agent`)).ok) return;
  await putInFront(server, "/v1/usage", async (_request, url) => {
    const format = url.searchParams.get("format");
    url.searchParams.delete("format");
    const [bucket, field] = (url.searchParams.get("group_by") ?? "").split(",");
    const answer = field === undefined ? null : { group_by: `${bucket},${field}`, items: await split(url, bucket, field) };
    if (format === "csv") return { status: 200, type: "text/csv", body: csv(bucket, field, answer.items) };
    if (answer) return { status: 200, body: JSON.stringify(answer) };
    const direct = await fetch(url);
    return { status: direct.status, body: await direct.text() };
  });
}

async function split(url, bucket, field) {
  const items = [];
  for (const [name, changes] of parts(url, bucket)) {
    const part = new URL(url);
    for (const key of ["date_from", "date_to", "time_zone"]) part.searchParams.delete(key);
    for (const [key, value] of Object.entries({ ...changes, group_by: field })) part.searchParams.set(key, value);
    const answer = await fetch(part);
    if (!answer.ok) throw new Error(await answer.text());
    for (const { value, ...sums } of (await answer.json()).items ?? []) items.push({ values: [name, value], ...sums });
  }
  return items;
}

/** Days, or hours of UTC, with the conditions of each. */
function parts(url, bucket) {
  const time_zone = url.searchParams.get("time_zone");
  const from = Date.parse(`${url.searchParams.get("date_from")}T00:00:00Z`);
  const end = Date.parse(`${url.searchParams.get("date_to")}T00:00:00Z`) + 24 * HOUR;
  const step = bucket === "hour" ? HOUR : 24 * HOUR;
  return Array.from({ length: Math.max(0, (end - from) / step) }, (_, at) => {
    const start = new Date(from + at * step).toISOString();
    if (bucket === "hour") return [start.slice(0, 13), { from_instant: start, to_instant: new Date(from + (at + 1) * step).toISOString() }];
    return [start.slice(0, 10), { date: start.slice(0, 10), time_zone }];
  });
}

function csv(bucket, field, items) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const safe = (value) => cell(/^[=+\-@]/.test(value) ? `'${value}` : value);
  const lines = items.map(({ values, ...sums }) => [...values.map(safe), ...COLUMNS.map((name) => sums[name])].join(","));
  return [[bucket, field, ...COLUMNS].join(","), ...lines, ""].join("\n");
}
