// The official `ai` package against a running server, with the chat that `useChat` of `@ai-sdk/react` has: one function is one case.
//
// Run with the server's base URLs, each a node of it, an API key, the folder in which the packages are installed, the name under
// which the version of `ai` is installed, and the cases if not all; prints `ok NAME` for each case that holds.

import { CASES as changes, LATEST } from "./changes.mjs";
import { CASES as content } from "./content.mjs";

const [version, ...wanted] = process.argv.slice(5);
const all = Object.entries({ ...content, ...changes, ...(version !== "ai-6-0-0" && LATEST) });
for (const [name, run] of all.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
  try {
    await run();
  } catch (error) {
    console.error(`${version}: ${name} does not hold`);
    throw error;
  }
  console.log(`ok ${name}`);
}
