// Recorded streams through the parsers of the official `ai` package: each chunk passes its strict schema, nothing is warned of,
// and what comes of a stream is what its message is said to be.
//
// Run with the folder of the records, the folder in which the packages are installed, and the name of the version; prints
// `ok NAME` for each record that holds.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { whole } from "./parts.mjs";

const [records, folder, version] = process.argv.slice(2);
const { DefaultChatTransport, readUIMessageStream } = await import(
  pathToFileURL(createRequire(`${folder}/`).resolve(version))
);

for (const name of ["warn", "error"]) {
  console[name] = (...words) => assert.fail(`console.${name}: ${words.join(" ")}`);
}

const chunks = [];
class Transport extends DefaultChatTransport {
  read = (stream) => this.processResponseStream(stream);
}

async function message(text) {
  const remember = new TransformStream({
    transform(chunk, controller) {
      chunks.push(structuredClone(chunk));
      controller.enqueue(chunk);
    },
  });
  const bytes = new Blob([text]).stream();
  const stream = new Transport().read(bytes).pipeThrough(remember);
  const told = [];
  let last;
  for await (const state of readUIMessageStream({ stream, onError: (error) => told.push(error.message) })) {
    last = structuredClone(state);
  }
  const errors = chunks.filter((chunk) => chunk.type === "error").map((chunk) => chunk.errorText);
  assert.deepEqual(told, errors);
  return last;
}

/** The parts, without the ids that thinking has since version 7. */
function parts(message) {
  const all = whole(message, chunks);
  return all.map(({ id, ...part }) => (part.type === "reasoning" || id === undefined ? part : { id, ...part }));
}

const ENDING = ".ai-sdk.sse";
const names = readdirSync(records).filter((name) => name.endsWith(ENDING));
for (const name of names) {
  chunks.length = 0;
  const read = (file) => readFileSync(join(records, file), "utf8");
  const got = await message(read(name));
  const expected = JSON.parse(read(name.replace(/sse$/, "json")));
  assert.deepEqual(got ? parts(got) : [], expected.parts, name);
  process.stdout.write(`ok ${name}\n`);
}
