// The pictures of the console in the documentation, `docs/images/console-<view>-<theme>.png`: real pages of the real server, with
// fixed data at a fixed time. `cargo xtask console --images` runs it; `node tests/images.mjs usage` takes those of one view alone.

import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { fixAnswers, fixedId } from "./images/fixed-answers.mjs";
import { fill, NOW, SHOWN } from "./images/shop.mjs";
import { openPage, startBrowser } from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

const FOLDER = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const MOST_BYTES = 200_000;
const THEMES = ["light", "dark"];

const QUESTION = encodeURIComponent("give a lamp back");
const WHO = encodeURIComponent('{"user_id":"ben","roles":["user"]}');
const WHAT = encodeURIComponent("GET /v1/contexts");

/** Views by their names: what is opened, what has to be there, and what is scrolled to. */
const views = ({ context, turn }) => ({
  chats: { hash: `#/chats/${context}`, ready: "text=Both can be dimmed" },
  turns: { hash: `#/turns/${turn}`, ready: '[data-part="timeline"] tr[data-id="n7"]' },
  calls: { hash: `#/turns/${turn}?tab=calls&call=${turn}.call-1`, ready: '[data-part="manifest"][data-state="ready"]', scrollTo: "h4 >> text=Tokens against" },
  contexts: { hash: "#/contexts?scope=chatHistory&order=recent", ready: "tr[data-id]" },
  memory: { hash: "#/memory/user?key=room", ready: '[data-part="value"][data-state="ready"]' },
  usage: { hash: "#/usage", ready: ".plot canvas" },
  agents: { hash: "#/agents", ready: '[data-part="agent-list"][data-state="ready"]' },
  data: { hash: "#/data/order?order=-id", ready: '[data-part="rows"][data-state="ready"]' },
  knowledge: { hash: `#/knowledge/handbook?tab=search&q=${QUESTION}`, ready: '[data-part="search"][data-state="ready"]' },
  access: { hash: `#/access?tab=explain&who=${WHO}&what=${WHAT}`, ready: "text=limited by owner_only" },
  system: { hash: "#/system", ready: '[data-part="health"][data-state="ready"]' },
});

async function take(browser, origin, { begun, name, view, theme }) {
  const prepare = async (page) => {
    await page.clock.setFixedTime(NOW);
    await fixAnswers(page.context(), begun);
  };
  const options = { preferences: { theme, language: "en" }, timezoneId: "UTC", reducedMotion: "reduce", prepare };
  const { page, context, check } = await openPage(browser, origin, view.hash, options);
  await page.locator(view.ready).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('[data-state="loading"]'));
  if (view.scrollTo) await page.locator(view.scrollTo).evaluate((element) => element.scrollIntoView());
  await page.evaluate(() => document.activeElement?.blur());
  const image = await page.screenshot({ animations: "disabled", caret: "hide" });
  check();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
  if (image.length > MOST_BYTES) throw new Error(`console-${name}-${theme}.png has ${image.length} bytes, more than ${MOST_BYTES}`);
  await writeFile(`${FOLDER}console-${name}-${theme}.png`, image);
  console.log(`docs/images/console-${name}-${theme}.png: ${image.length} bytes`);
}

const wanted = process.argv.slice(2);
const server = await startServer("../console/tests/apps/lamps");
const browser = await startBrowser();
try {
  await mkdir(FOLDER, { recursive: true });
  const begun = await fill(server.api);
  const { context } = await (await fetch(`${server.api}/chat/sessions/bedroom?assistant_id=shop`)).json();
  const all = views({ context, turn: fixedId(SHOWN) });
  for (const [name, view] of Object.entries(all)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    for (const theme of THEMES) await take(browser, `http://127.0.0.1:${server.port}`, { begun, name, view, theme });
  }
} finally {
  await browser.close();
  await server.stop();
}
