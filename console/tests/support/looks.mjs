// A view in both themes, wide and narrow: axe finds nothing, and nothing scrolls sideways.

import assert from "node:assert/strict";
import { assertAccessible } from "./axe.mjs";

const LOOKS = [
  { theme: "light", language: "en", width: 1280 },
  { theme: "dark", language: "zh-cn", width: 1280 },
  { theme: "dark", language: "en", width: 360 },
  { theme: "light", language: "zh-cn", width: 360 },
];

/** Looks at each of the hashes; `ready` waits until there is something to look at. */
export async function assertLooks(ambit, hashes, ready) {
  for (const { theme, language, width } of LOOKS) {
    const { page, check } = await ambit.open(hashes[0], { viewport: { width, height: 800 }, preferences: { theme, language } });
    for (const hash of hashes) {
      await page.evaluate((next) => (location.hash = next), hash);
      await ready(page, hash);
      await assertAccessible(page, `${hash} ${theme} ${language} ${width}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${hash} scrolls sideways by ${overflow} px`);
    }
    check();
    await page.context().close();
  }
}
