import { expect, test } from "vitest";
import { formatHash, parseHash, pickFilters } from "../src/url";

test("a hash is parted into view, id and filters", () => {
  expect(parseHash("#/contexts/a%2Fb?tab=archive&user=Ann+B")).toEqual({
    view: "contexts",
    id: "a/b",
    filters: { tab: "archive", user: "Ann B" },
  });
  expect(parseHash("")).toEqual({ view: "", id: null, filters: {} });
  expect(parseHash("#/memory/user/ann")).toEqual({ view: "memory", id: "user/ann", filters: {} });
});

test("what is formatted is read back", () => {
  const hash = formatHash("turns", "50% / ü?#", { q: "a&b=c", status: "" });
  expect(parseHash(hash)).toEqual({ view: "turns", id: "50% / ü?#", filters: { q: "a&b=c" } });
});

test("an id with a broken escape is taken as it is", () => {
  expect(parseHash("#/contexts/%zz").id).toBe("%zz");
});

test("unknown filters are named", () => {
  expect(pickFilters({ user: "ann", colour: "red" }, ["user"])).toEqual({ filters: { user: "ann" }, dropped: ["colour"] });
});
