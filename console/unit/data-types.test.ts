import { beforeAll, expect, test, vi } from "vitest";

let data: typeof import("../src/views/data/data-types");

beforeAll(async () => {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  vi.stubGlobal("navigator", { language: "en", languages: ["en"] });
  data = await import("../src/views/data/data-types");
});

test("filters of rows go to the URL and come back", () => {
  const where = [{ column: "note", op: "match", value: 'a "b" & c' }, { column: "gone", op: "null" }];
  expect(data.parseWhere(data.formatWhere(where))).toEqual(where);
  expect(data.formatWhere([])).toBe("");
  expect(data.parseWhere("")).toEqual([]);
});

test("filters that this page did not write are refused", () => {
  for (const text of ["{", "{}", '[{"column":"a","op":"drop"}]', '[{"column":1,"op":"eq"}]', '[{"column":"a","op":"eq","value":{}}]']) {
    expect(data.parseWhere(text)).toBeNull();
  }
});

test("a condition has a value of the column's type", () => {
  const columns = [{ name: "id", type: "ID" }, { name: "paid", type: "boolean" }, { name: "note", type: "string" }];
  const value = (column: string, text: string, op = "eq") => data.condition({ column, op, value: text }, columns).value;
  expect([value("id", "3"), value("id", "9007199254740993"), value("id", "x"), value("id", "1,2", "in")]).toEqual([3, "9007199254740993", "x", "1,2"]);
  expect([value("paid", "true"), value("note", "3"), value("unknown", "3")]).toEqual([true, "3", "3"]);
  expect(data.condition({ column: "id", op: "null" }, columns)).toEqual({ column: "id", op: "null" });
});

test("an order is ascending, or descending with a minus", () => {
  expect(data.orders("at")).toEqual([{ column: "at", option: "asc" }]);
  expect(data.orders("-at")).toEqual([{ column: "at", option: "desc" }]);
  expect(data.orders("")).toEqual([]);
});

test("rows are told apart by the primary column, where there is one", () => {
  expect(data.keyColumn([{ name: "code", type: "string" }, { name: "no", type: "integer", primary: true }])).toBe("no");
  expect(data.keyColumn([{ name: "id", type: "integer", primary: false }])).toBeNull();
});
