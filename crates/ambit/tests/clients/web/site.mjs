// The page of `examples/web`, made as people make it: built and put behind a server that passes `/v1` on, or served by Vite.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer, request } from "node:http";
import { basename, dirname, extname, join } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

// What runs here is new enough for Vite; the Node on the PATH need not be.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };

/** Copies the page's folder, with packages that are installed elsewhere. */
export function copy(page, packages, folder) {
  const filter = (path) => !["node_modules", "dist"].includes(basename(path));
  cpSync(page, folder, { recursive: true, filter });
  // A folder of its own, since Vite keeps things in it.
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(packages, "node_modules"))) {
    symlinkSync(join(packages, "node_modules", name), join(folder, "node_modules", name));
  }
}

/** Runs `npm run build`, and serves what it made and the routes of Ambit. */
export async function serveBuilt(folder, ambit) {
  const ran = spawnSync("npm", ["run", "build"], { cwd: folder, env, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`the page is not built:\n${ran.stdout}${ran.stderr}`);
  const server = createServer((asked, answer) => {
    if (asked.url.startsWith("/v1/")) {
      passOn(asked, answer, ambit);
      return;
    }
    const { pathname } = new URL(asked.url, "http://localhost");
    const file = join(folder, "dist", pathname === "/" ? "index.html" : pathname);
    answer.setHeader("content-type", TYPES[extname(file)]);
    answer.end(readFileSync(file));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

function passOn(asked, answer, ambit) {
  const { method, headers } = asked;
  const further = request(new URL(asked.url, ambit), { method, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
  });
  // Who hangs up here hangs up there.
  answer.on("close", () => further.destroy());
  further.on("error", () => answer.destroy());
  asked.pipe(further);
}

/** Runs what `npm run dev` runs, which passes `/v1` on by itself. */
export function develop(folder, ambit) {
  const vite = spawn("node_modules/.bin/vite", ["--host", "127.0.0.1", "--port", "0"], {
    cwd: folder,
    env: { ...env, AMBIT_URL: new URL(ambit).origin, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  return new Promise((serves, fails) => {
    vite.on("exit", () => fails(new Error(`Vite does not serve the page:\n${printed}`)));
    vite.stdout.on("data", (piece) => {
      printed += piece;
      const url = /(http:\/\/127\.0\.0\.1:\d+)\//.exec(printed)?.[1];
      if (url) serves({ url, stop: () => vite.kill() });
    });
  });
}
