// Whether somebody looks at the tab. A tab that is hidden for five seconds holds no stream.

const HIDDEN_AFTER = 5000;

let seen = !document.hidden;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<(seen: boolean) => void>();

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (document.hidden) timer = setTimeout(() => set(false), HIDDEN_AFTER);
  else set(true);
});

function set(value: boolean): void {
  if (value === seen) return;
  seen = value;
  for (const listener of listeners) listener(value);
}

export function isSeen(): boolean {
  return seen;
}

/** Calls back at each change; the answer stops that. */
export function onSeenChange(listener: (seen: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Waits until somebody looks at the tab. */
export function untilSeen(signal: AbortSignal): Promise<void> {
  if (seen) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = onSeenChange(() => {
      stop();
      signal.removeEventListener("abort", abort);
      resolve();
    });
    const abort = () => {
      stop();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
  });
}
