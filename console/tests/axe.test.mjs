import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible } from "./support/axe.mjs";
import { useConsole } from "./support/console.mjs";
import { say } from "./support/server.mjs";

const VIEWS = ["chats", "turns", "contexts", "memory", "usage", "agents", "data", "knowledge", "access", "system"];
const LOOKS = [
  { theme: "light", language: "en", width: 1280 },
  { theme: "dark", language: "en", width: 1280 },
  { theme: "light", language: "zh-cn", width: 360 },
  { theme: "dark", language: "zh-cn", width: 360 },
];

const ambit = useConsole("welcome", async (server) => {
  await say(server, "one", "Hello");
});

test("g198_axe_finds_nothing_and_nothing_scrolls_sideways", async () => {
  const { items } = await (await fetch(`${ambit.server.api}/contexts`)).json();
  for (const { theme, language, width } of LOOKS) {
    const { page, check } = await ambit.open("#/contexts", { viewport: { width, height: 800 }, preferences: { theme, language } });
    for (const path of [...VIEWS, `contexts/${items[0].id}`]) {
      await page.evaluate((hash) => (location.hash = hash), `#/${path}`);
      await page.locator(`main[data-view="${path.split("/")[0]}"] h1`).waitFor();
      if (path.includes("/")) await page.locator('[data-part="items"][data-state="ready"]').waitFor({ state: "attached" });
      await page.waitForFunction(() => !document.querySelector('[data-state="loading"]'));
      await assertAccessible(page, `#/${path} ${theme} ${language} ${width}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `#/${path} scrolls sideways by ${overflow} px`);
    }
    check();
    await ambit.closePages();
  }
});
