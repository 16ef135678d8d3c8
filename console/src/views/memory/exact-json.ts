// JSON whose numbers keep all their digits: what is edited is sent as it is written, and what is read is shown as it was sent.

interface ExactJson {
  rawJSON?: (text: string) => unknown;
  parse(text: string, reviver: (name: string, value: unknown, context?: { source?: string }) => unknown): unknown;
}

const exact = JSON as unknown as ExactJson;

/** Reads JSON to be shown by `formatExact`; where the browser has no raw numbers they are those of JavaScript. */
export function parseExact(text: string): unknown {
  return exact.parse(text, (_name, value, context) =>
    typeof value === "number" && exact.rawJSON && context?.source !== undefined ? exact.rawJSON(context.source) : value,
  );
}

export function formatExact(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Why a text is no JSON; null if it is some. */
export function jsonFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (cause) {
    return cause instanceof SyntaxError ? cause.message : String(cause);
  }
}

/** A body with a value as it is written beside other fields. */
export function bodyWithValue(value: string, fields: Readonly<Record<string, unknown>>): Blob {
  const others = Object.entries(fields).filter(([, field]) => field !== undefined);
  const parts = [`"value":${value}`, ...others.map(([name, field]) => `${JSON.stringify(name)}:${JSON.stringify(field)}`)];
  return new Blob([`{${parts.join(",")}}`], { type: "application/json" });
}
