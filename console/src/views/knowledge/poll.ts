// Reads again every two seconds while something is under way and somebody looks.

import { isSeen } from "../../visibility";

const EVERY = 2000;

/** For `$effect`: the answer ends it. */
export function pollWhile(isBusy: boolean, read: () => void): (() => void) | undefined {
  if (!isBusy) return undefined;
  const timer = setInterval(() => {
    if (isSeen()) read();
  }, EVERY);
  return () => clearInterval(timer);
}
