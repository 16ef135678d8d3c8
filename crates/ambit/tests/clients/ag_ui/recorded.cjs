// Gives the official `@ag-ui/client` every recorded stream as if a server had sent it. Run with the folder of the recordings and
// the folder in which the package is installed; prints `ok NAME` for each one that it takes without a warning.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const { takeAll } = require("../recorded.cjs");

const [recorded, folder] = process.argv.slice(2);
const load = createRequire(`${folder}/`);
const { HttpAgent } = load("@ag-ui/client");
const { EventSchemas } = load("@ag-ui/core/schemas");

const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));
console.error = (...words) => warnings.push(words.join(" "));

async function take(text) {
  warnings.length = 0;
  const headers = { "content-type": "text/event-stream" };
  const agent = new HttpAgent({ url: "http://test", fetch: async () => new Response(text, { headers }) });
  const kinds = [];
  await agent.runAgent({}, {
    onEvent: ({ event }) => {
      EventSchemas.parse(event);
      kinds.push(event.type);
    },
  });
  assert.equal(kinds[0], "RUN_STARTED");
  assert.match(kinds.at(-1), /^RUN_(FINISHED|ERROR)$/);
  assert.deepEqual(warnings, []);
}

takeAll(recorded, "ag-ui", take);
