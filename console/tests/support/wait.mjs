// Waits for states. A limit ends a hang and is nothing that a case expects: a slow machine is no failure.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

export const LIMIT = 120_000;
const AGAIN = 50;

/** Reads again until the answer is what is expected; `expected` may be a function that is read each time too. */
export async function settles(read, expected, message) {
  const end = Date.now() + LIMIT;
  for (;;) {
    const found = await read();
    const wanted = typeof expected === "function" ? await expected() : expected;
    if (isDeepStrictEqual(found, wanted)) return;
    if (Date.now() > end) assert.deepEqual(found, wanted, message);
    await pause(AGAIN);
  }
}
