import { expect, test } from "vitest";
import { metadataFault, searchBody } from "../src/views/knowledge/search-body";

test("a search asks what the URL says, and nothing without a query", () => {
  expect(searchBody("shop", { limit: "3" })).toBeNull();
  expect(searchBody("shop", { q: "lamp" })).toEqual({ query: "lamp", collections: ["shop"] });
  expect(searchBody("shop", { q: "lamp", document: "d", limit: "3", threshold: "0.5", metadata: '{"year": 2024}' })).toEqual({
    query: "lamp", collections: ["shop"], document_id: "d", limit: 3, threshold: 0.5, metadata: { year: 2024 },
  });
});

test("a filter on metadata is a JSON object", () => {
  expect([metadataFault(""), metadataFault('{"a": 1}')]).toEqual([null, null]);
  expect([metadataFault("["), metadataFault("[1]"), metadataFault("null")].includes(null)).toBe(false);
  expect(searchBody("shop", { q: "lamp", metadata: "[" })).toEqual({ query: "lamp", collections: ["shop"] });
});
