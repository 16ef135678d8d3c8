// Prints a line of JSON for each case that has run, `{case, error}`, between what is printed meanwhile: `crates/ambit/tests/console` reads it.

/** How much of a message and of the lines behind it is worth reading in a list. */
const LINES = 7;
const WIDTH = 300;

export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type === "test:stderr" || type === "test:stdout") yield data.message;
    const hasFailed = type === "test:fail";
    const hasPassed = type === "test:pass" && data.skip === undefined;
    if (!hasFailed && !hasPassed) continue;
    yield `${JSON.stringify({ case: data.name, error: hasFailed ? reason(data.details.error) : null })}\n`;
  }
}

/** The error that a case threw, without that of the runner around it. */
function reason(error) {
  const thrown = error?.cause ?? error;
  const text = String(thrown?.stack ?? thrown?.message ?? thrown).replaceAll(/\u001b\[\d+m/g, "");
  return text.split("\n").slice(0, LINES).map((line) => line.slice(0, WIDTH)).join("\n");
}
