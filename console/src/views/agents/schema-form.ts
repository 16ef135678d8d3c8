// A form from a tool's schema: a field for each simple property, JSON where the schema is too free.

export type FieldKind = "text" | "number" | "boolean" | "choice" | "json";

export interface SchemaField {
  name: string;
  kind: FieldKind;
  required: boolean;
  description: string;
  /** What a choice offers. */
  options: readonly string[];
}

/** The one field of a schema that names no properties: all arguments. */
export const WHOLE = "";

type Schema = Record<string, unknown>;

export function schemaFields(schema: unknown): SchemaField[] {
  const { properties, required } = record(schema);
  const known = Object.entries(record(properties));
  if (known.length === 0) return [{ name: WHOLE, kind: "json", required: false, description: "", options: [] }];
  const needed = Array.isArray(required) ? required : [];
  return known.map(([name, value]) => {
    const property = record(value);
    const description = typeof property.description === "string" ? property.description : "";
    const options = choices(property);
    return { name, kind: options.length > 0 ? "choice" : kind(property), required: needed.includes(name), description, options };
  });
}

/** Makes the arguments of what was typed. Fields that are empty are left out; a text that is no JSON is a `FieldError`. */
export function readArguments(fields: readonly SchemaField[], typed: Readonly<Record<string, string>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const field of fields) {
    const text = typed[field.name] ?? "";
    if (field.name === WHOLE) return text.trim() === "" ? {} : (parse(field.name, text) as Record<string, unknown>);
    if (text === "" && !(field.kind === "text" && field.required)) continue;
    // A key such as `__proto__` is a name like any other.
    Object.defineProperty(result, field.name, { value: convert(field, text), enumerable: true, configurable: true, writable: true });
  }
  return result;
}

export class FieldError extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

function convert({ name, kind }: SchemaField, text: string): unknown {
  if (kind === "json") return parse(name, text);
  if (kind === "boolean") return text === "true";
  return kind === "number" ? Number(text) : text;
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FieldError(name, cause instanceof Error ? cause.message : String(cause));
  }
}

function kind({ type }: Schema): FieldKind {
  if (type === "string") return "text";
  if (type === "boolean") return "boolean";
  return type === "number" || type === "integer" ? "number" : "json";
}

/** Only texts: the field gives a text. */
function choices({ enum: all }: Schema): string[] {
  if (!Array.isArray(all)) return [];
  return all.every((one) => typeof one === "string" && one !== "") ? (all as string[]) : [];
}

function record(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
