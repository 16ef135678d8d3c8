import { expect, test } from "vitest";
import { mediaHost, safeLink, safeMedia } from "../src/safe-addresses";

test("links lead to pages and to mail", () => {
  expect(safeLink("https://example.org/a")).toBe("https://example.org/a");
  expect(["javascript:alert(1)", "data:text/html,x", "//example.org", " https://example.org", null].map(safeLink)).toEqual([null, null, null, null, null]);
});

test("media of a message itself are of their type, and pictures no documents", () => {
  expect(safeMedia("image", "data:image/png;base64,AA")).toBe("data:image/png;base64,AA");
  expect(safeMedia("audio", "data:audio/ogg;base64,AA")).toBe("data:audio/ogg;base64,AA");
  expect(safeMedia("image", "data:image/svg+xml,x")).toBe(null);
  expect(safeMedia("video", "data:text/html,x")).toBe(null);
  expect(safeMedia("image", "https://example.org/a.png")).toBe(null);
});

test("a host is asked only if its origin is among those of the app, whatever the address looks like", () => {
  const origins = ["https://images.test", "http://127.0.0.1:8001", "https://Shop.test:443"];
  expect(mediaHost("https://images.test/a.png?b#c", origins)).toBe("images.test");
  expect(mediaHost("http://127.0.0.1:8001/a.png", origins)).toBe("127.0.0.1:8001");
  expect(mediaHost("https://shop.test/a.png", origins)).toBe("shop.test");
  for (const address of [
    "http://images.test/a.png", "https://images.test:8443/a.png", "https://images.test.evil.test/a.png", "https://images.test@evil.test/a.png",
    "https://evil.test/https://images.test", "//images.test/a.png", "javascript:https://images.test", "https://", "", null, 7,
  ]) {
    expect(mediaHost(address, origins)).toBe(null);
  }
  expect(mediaHost("https://images.test/a.png", [])).toBe(null);
});
