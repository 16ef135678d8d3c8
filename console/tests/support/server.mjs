// The real binary on a folder of its own, with an app. `AMBIT_BINARY` names the binary.

import { execFile, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const binary = process.env.AMBIT_BINARY ?? join(root, "target/debug/ambit");

/**
 * Starts a server with a copy of `examples/<app>`; `files` are added to it, texts by their paths. It can be killed, and started again where
 * it was. `store` is the address of what it shares with others; without one it has a folder of its own.
 */
export async function startServer(app, files = {}, store = null) {
  const folder = await mkdtemp(join(tmpdir(), "ambit-console-"));
  const data = join(folder, "data");
  await cp(join(root, "examples", app), join(folder, "app"), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, "app", path)), { recursive: true });
    await writeFile(join(folder, "app", path), text);
  }
  const place = store === null ? ["--data", data] : ["--store", store];
  const serve = (listen) => {
    const options = ["serve", join(folder, "app"), "--listen", listen, ...place, "--grace", "1"];
    return spawn(binary, options, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, AMBIT_LOG: "warn" } });
  };
  let child;
  const end = async (signal) => {
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("exit", resolve));
  };
  let api = null;
  for (let tries = 1; api === null; tries += 1) {
    child = serve(anyAddress());
    // Somebody else may have the port. Why a server has ended is printed and not known here: it is started again whatever the reason.
    api = await printedAddress(child).catch((error) => {
      if (tries === TRIES) throw error;
      return null;
    });
  }
  const { host, port } = new URL(api);
  return {
    port: Number(port),
    api,
    app: join(folder, "app"),
    data,
    kill: () => end("SIGKILL"),
    async restart() {
      child = serve(host);
      await printedAddress(child);
    },
    async stop() {
      await end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** How often a server is started that does not serve. */
const TRIES = 5;

/** An address with a port of those that systems give to nobody who has not asked for it: it is still there for a server that starts again. */
const anyAddress = () => `127.0.0.1:${20_000 + Math.floor(Math.random() * 12_000)}`;

/** The address of the first line, `Ambit serves "Welcome" on http://…`. */
function printedAddress(child) {
  return new Promise((resolve, reject) => {
    let printed = "";
    child.stdout.on("data", (piece) => {
      printed += piece;
      const found = printed.match(/ on (http:\/\/\S+)\n/);
      if (found) resolve(found[1]);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code} before it served`)));
  });
}

/** Sends one message and waits for the answer's end. */
export async function say(server, chat, content, agent = "welcome") {
  const body = { model: agent, chat_id: chat, stream: false, messages: [{ role: "user", content }] };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server.api}/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`the turn was refused: ${await answer.text()}`);
  return answer.json();
}

/** Files for `startServer` that have callers told apart by keys. */
export const KEYS = { "openapi/openapi.yao": JSON.stringify({ auth: { api_keys: true } }) };

/** Makes a key of such a server, as `ambit keys new` does. */
export async function makeKey(server, user, role, team = null) {
  const whose = ["--user", user, "--role", role, ...(team === null ? [] : ["--team", team])];
  const key = ["keys", "new", "--data", server.data, "--app", server.app, ...whose];
  const { stdout } = await promisify(execFile)(binary, key);
  return stdout.trim();
}

/** Files for `startServer` that make the developer a caller without constraints. */
export const UNCONSTRAINED = {
  "openapi/openapi.yao": JSON.stringify({ auth: { dev_identity: { user_id: "dev", constraints: {} } } }),
};
