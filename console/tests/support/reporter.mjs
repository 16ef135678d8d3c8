// Prints a line for each case as it ends, and at the end once more those that failed, with why: of a long log often only the end is kept.

import { relative } from "node:path";

/** How much of a message and of the lines behind it is worth reading in a list. */
const LINES = 7;
const WIDTH = 300;

export default async function* report(events) {
  const failed = [];
  let cases = 0;
  for await (const { type, data } of events) {
    if (type === "test:stderr" || type === "test:stdout") yield data.message;
    if (type !== "test:pass" && type !== "test:fail") continue;
    cases += 1;
    const hasPassed = type === "test:pass";
    yield `${hasPassed ? "ok" : "not ok"} ${(data.details.duration_ms / 1000).toFixed(1)} s ${data.name}\n`;
    if (!hasPassed) failed.push(`FAILED ${relative(process.cwd(), data.file ?? "")}: ${data.name}\n${reason(data.details.error)}\n`);
  }
  yield* failed;
  yield `${cases} cases, ${failed.length} failed\n`;
}

/** The error that a case threw, without that of the runner around it. */
function reason(error) {
  const thrown = error?.cause ?? error;
  const text = String(thrown?.stack ?? thrown?.message ?? thrown).replaceAll(/\u001b\[\d+m/g, "");
  return text.split("\n").slice(0, LINES).map((line) => `    ${line.slice(0, WIDTH)}`).join("\n");
}
