import { expect, test } from "vitest";
import { FieldError, readArguments, schemaFields } from "../src/views/agents/schema-form";

const SCHEMA = {
  type: "object",
  required: ["name", "note"],
  properties: {
    name: { type: "string", description: "Whom" },
    note: { type: "string" },
    count: { type: "integer" },
    loud: { type: "boolean" },
    colour: { enum: ["red", "blue"] },
    tags: { type: "array" },
    level: { enum: [1, 2] },
  },
};

test("simple properties become fields, others JSON", () => {
  const kinds = schemaFields(SCHEMA).map(({ name, kind, required }) => [name, kind, required]);
  expect(kinds).toEqual([
    ["name", "text", true], ["note", "text", true], ["count", "number", false], ["loud", "boolean", false],
    ["colour", "choice", false], ["tags", "json", false], ["level", "json", false],
  ]);
});

test("what was typed becomes arguments, and empty fields are left out", () => {
  const typed = { name: "Ann", count: "3", loud: "false", tags: '["a"]', colour: "" };
  expect(readArguments(schemaFields(SCHEMA), typed)).toEqual({ name: "Ann", note: "", count: 3, loud: false, tags: ["a"] });
});

test("a schema without properties takes all arguments as JSON", () => {
  for (const schema of [{}, null, { type: "object" }, [1]]) {
    expect(readArguments(schemaFields(schema), { "": '{"a": 1}' })).toEqual({ a: 1 });
  }
  expect(readArguments(schemaFields({}), {})).toEqual({});
});

test("a text that is no JSON says for which field", () => {
  expect(() => readArguments(schemaFields(SCHEMA), { tags: "[" })).toThrow(FieldError);
});

test("a property with the name of a prototype is an argument like any other", () => {
  const schema = { properties: JSON.parse('{"__proto__": {"type": "string"}}') as unknown };
  expect(JSON.stringify(readArguments(schemaFields(schema), JSON.parse('{"__proto__": "x"}') as Record<string, string>))).toBe('{"__proto__":"x"}');
});
