// Recorded streams, for the programs in the folders beside this file.

const fs = require("node:fs");
const path = require("node:path");

/** Gives `take` every stream of a format and the answer that does not stream; prints `ok NAME` for each that it takes. */
exports.takeAll = async (records, format, take) => {
  for (const name of fs.readdirSync(records).filter((name) => name.endsWith(`.${format}.sse`))) {
    const read = (file) => fs.readFileSync(path.join(records, file), "utf8");
    try {
      await take(read(name), JSON.parse(read(name.replace(/sse$/, "json"))));
      console.log("ok", name);
    } catch (error) {
      console.log("failed", name, error);
    }
  }
};
