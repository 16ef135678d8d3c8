// The URL is the state: `#/<view>[/<id>][?filters]`. Ids may have slashes; each part is percent-encoded.

export type Filters = Readonly<Record<string, string>>;

export interface Route {
  view: string;
  id: string | null;
  filters: Filters;
}

export function parseHash(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const [view = "", ...rest] = path.split("/").map(decode);
  const id = rest.join("/");
  const query = new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1));
  return { view, id: id === "" ? null : id, filters: Object.fromEntries(query) };
}

/** Filters that are empty are left out: they are the defaults. */
export function formatHash(view: string, id: string | null = null, filters: Filters = {}): string {
  const path = id === null ? "" : `/${encodeURIComponent(id)}`;
  const query = formatQuery(filters);
  return `#/${encodeURIComponent(view)}${path}${query}`;
}

/** A query with its question mark, or nothing. */
export function formatQuery(values: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** Parts the filters that a view knows from those that it does not. */
export function pickFilters(filters: Filters, known: readonly string[]): { filters: Filters; dropped: string[] } {
  const entries = Object.entries(filters);
  return {
    filters: Object.fromEntries(entries.filter(([name]) => known.includes(name))),
    dropped: entries.map(([name]) => name).filter((name) => !known.includes(name)),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
