// Prints the gzip sizes of the built files, and fails above the budget: 130 kB until the first view is idle, 350 kB in all.

import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const FIRST_LOAD = 130_000;
const ALL_FILES = 350_000;

const folder = new URL("../../crates/ambit/console/", import.meta.url);
const size = (path) => gzipSync(readFileSync(new URL(path, folder)), { level: 9 }).length;
const assets = readdirSync(new URL("assets/", folder)).map((name) => `assets/${name}`);

/** Adds a script, and what it imports before it runs, to what was found. */
function withImports(path, found) {
  if (found.has(path)) return found;
  found.add(path);
  if (!path.endsWith(".js")) return found;
  const text = readFileSync(new URL(path, folder), "utf8");
  for (const [, name] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) withImports(`assets/${name}`, found);
  return found;
}

const page = readFileSync(new URL("index.html", folder), "utf8");
const first = new Set(["index.html"]);
for (const [, path] of page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)) withImports(path, first);

for (const path of ["index.html", ...assets]) {
  console.log(`${String(size(path)).padStart(8)}  ${first.has(path) ? "first" : "     "}  ${path}`);
}
const sum = (paths) => [...paths].reduce((total, path) => total + size(path), 0);
// The first view comes on top of what every view needs, with all that it imports: the largest one counts.
const views = assets.filter((path) => path.endsWith(".js") && !first.has(path));
const together = views.map((path) => sum(withImports(path, new Set(first))));
const withView = Math.max(sum(first), ...together);
const all = sum(["index.html", ...assets]);
console.log(`first load ${withView} of ${FIRST_LOAD} bytes, all files ${all} of ${ALL_FILES} bytes (gzip)`);
if (withView > FIRST_LOAD || all > ALL_FILES) process.exit(1);
