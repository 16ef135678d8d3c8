import { expect, test } from "vitest";
import { visible } from "../src/bidi";

test("controls are shown as escapes, letters of all scripts as they are", () => {
  expect(visible("a\u202eb\u0000 שלום 你好 👩")).toBe("a\\u202eb\\u0000 שלום 你好 👩");
});
