// Pages of the console in Chromium. A page fails its case on an uncaught error, an error of the console, a report of the
// content security policy, and any request to another origin.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { LIMIT } from "./wait.mjs";

const executablePath = process.env.TEST_CHROMIUM ?? "/usr/bin/chromium";

/** No name has an address, and no address but this machine's own is reached. */
const OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";

export function startBrowser() {
  return chromium.launch({ executablePath, args: ["--no-sandbox", OFFLINE], timeout: LIMIT });
}

/**
 * Opens `#/…` in a fresh context, with these `preferences`; `prepare` gets the page before anything is loaded. `check()` fails if
 * something went wrong in the page until then.
 */
export async function openPage(browser, origin, hash, { preferences, prepare, ...options } = {}) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(LIMIT);
  if (preferences) await context.addInitScript((chosen) => localStorage.setItem("ambit.preferences", JSON.stringify(chosen)), preferences);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) problems.push(`request to another origin: ${url}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  await prepare?.(page);
  await page.goto(`${origin}/console/${hash}`);
  return {
    page,
    context,
    /** A part in the state that it should reach. */
    part: (name, state = "ready") => page.locator(`[data-part="${name}"][data-state="${state}"]`),
    action: (name) => page.locator(`[data-action="${name}"]`),
    /** Problems that are `expected` belong to the case. */
    check: (expected) => assert.deepEqual(problems.filter((problem) => !expected?.test(problem)), []),
  };
}
