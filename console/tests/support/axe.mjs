// The checks of axe on a page as it stands.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export async function assertAccessible(page, where) {
  // Not as a script element: the policy of the page refuses those.
  await page.evaluate(source);
  const violations = await page.evaluate(async (tags) => {
    const { violations } = await axe.run(document, { runOnly: tags });
    return violations.map((found) => `${found.id}: ${found.nodes.map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
  }, TAGS);
  assert.deepEqual(violations, [], where);
}
