// Reads what `GET /metrics` answers, and makes of two readings what happened between them.

export interface MetricLine {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** One reading. */
export interface Reading {
  at: number;
  requests: number;
  errors: number;
  streams: number;
  /** Answers by the upper bound of their time in seconds, added up over all routes. */
  buckets: ReadonlyMap<number, number>;
}

/** What happened from one reading to the next. */
export interface Sample {
  at: number;
  requests: number;
  errors: number;
  /** Null where nothing was answered. */
  p95: number | null;
  streams: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): MetricLine[] {
  return text.split("\n").flatMap((line) => {
    const found = LINE.exec(line);
    if (!found) return [];
    const [, name = "", labelText = "", value = ""] = found;
    const labels = [...labelText.matchAll(LABEL)].map(([, key = "", quoted = ""]) => [key, unescape(quoted)] as const);
    return [{ name, labels: Object.fromEntries(labels), value: numberOf(value) }];
  });
}

export function read(text: string, at: number): Reading {
  const reading = { at, requests: 0, errors: 0, streams: 0 };
  const buckets = new Map<number, number>();
  for (const { name, labels, value } of parseMetrics(text)) {
    if (name === "ambit_http_requests_total") {
      reading.requests += value;
      if (labels.status?.startsWith("5")) reading.errors += value;
    } else if (name === "ambit_streams_open") {
      reading.streams += value;
    } else if (name === "ambit_http_request_seconds_bucket") {
      const bound = numberOf(labels.le ?? "");
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
  }
  return { ...reading, buckets };
}

/** Counters that went down were begun anew: the server was started again in between. */
export function between(before: Reading, after: Reading): Sample {
  const seconds = Math.max((after.at - before.at) / 1000, 0.001);
  const rate = (name: "requests" | "errors") => {
    const isNew = after[name] < before[name];
    return (after[name] - (isNew ? 0 : before[name])) / seconds;
  };
  const isRestarted = after.requests < before.requests;
  const p95 = quantile(0.95, isRestarted ? new Map() : before.buckets, after.buckets);
  return { at: after.at, requests: rate("requests"), errors: rate("errors"), p95, streams: after.streams };
}

/** The time below which this part of the answers lies, as Prometheus reckons it: evenly within a bucket. */
export function quantile(part: number, before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number | null {
  const bounds = [...after.keys()].sort((one, other) => one - other);
  const counts = bounds.map((bound) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0));
  const wanted = part * (counts.at(-1) ?? 0);
  if (wanted <= 0) return null;
  const at = counts.findIndex((count) => count >= wanted);
  const [low, high] = [at === 0 ? 0 : (bounds[at - 1] ?? 0), bounds[at] ?? 0];
  if (!Number.isFinite(high)) return low;
  const below = at === 0 ? 0 : (counts[at - 1] ?? 0);
  return low + ((high - low) * (wanted - below)) / ((counts[at] ?? 0) - below);
}

function numberOf(text: string): number {
  return text === "+Inf" ? Infinity : Number(text);
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, mark: string) => (mark === "n" ? "\n" : mark));
}
