// All that a case needs: a server with an app, the console in front of it, a browser.

import { after, before } from "node:test";
import { openPage, startBrowser } from "./browser.mjs";
import { startProxy } from "./proxy.mjs";
import { startServer } from "./server.mjs";
import { developerSession } from "./session.mjs";

/** Starts all of it before the cases of a file, and stops it after them. */
export function useConsole(app, prepare = async () => {}, files = {}) {
  const used = {};
  before(async () => {
    used.server = await startServer(app, files);
    await prepare(used.server);
    used.session = await developerSession(used.server);
    used.proxy = await startProxy(used.server.port, used.session);
    used.browser = await startBrowser();
    used.open = (hash, options) => openPage(used.browser, used.proxy.origin, hash, options);
  });
  after(async () => {
    await used.browser?.close();
    used.proxy?.close();
    await used.server?.stop();
  });
  return used;
}
