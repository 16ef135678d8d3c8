// All that a case needs: a server with an app and its console, and a browser.

import { after, afterEach, before } from "node:test";
import { openPage, startBrowser } from "./browser.mjs";
import { startServer } from "./server.mjs";

/** Starts all of it before the cases of a file, and stops it after them; pages are closed with their case. */
export function useConsole(app, prepare = async () => {}, files = {}, store = null) {
  const used = {};
  before(async () => {
    used.server = await startServer(app, files, store);
    await prepare(used.server);
    used.origin = `http://127.0.0.1:${used.server.port}`;
    used.session = await (await fetch(`${used.server.api}/session`)).json();
    used.browser = await startBrowser();
    used.open = (hash, options) => openPage(used.browser, used.origin, hash, options);
  });
  // A page that is left open goes on reading, beside the next one.
  used.closePages = () => Promise.all((used.browser?.contexts() ?? []).map(closeContext));
  afterEach(() => used.closePages());
  after(async () => {
    await used.browser?.close();
    await used.server?.stop();
  });
  return used;
}

/** What is still being answered is none of the case's business any more. */
async function closeContext(context) {
  for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
}
