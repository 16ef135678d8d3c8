// Reads again and again, one reading after the other, while somebody looks at the tab.

import { pause } from "../../retry";
import { untilSeen } from "../../visibility";

/** How often the view reads. */
export const EVERY = 5000;

/** Calls `read` every five seconds, the first time after five; the answer stops that. */
export function poll(read: () => Promise<void>): () => void {
  const stop = new AbortController();
  void run(read, stop.signal).catch((cause: unknown) => {
    if (!stop.signal.aborted) console.warn("reading every five seconds ended", cause);
  });
  return () => stop.abort();
}

async function run(read: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(EVERY, signal);
    await untilSeen(signal);
    await read();
  }
}
