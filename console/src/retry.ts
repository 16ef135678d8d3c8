// When a request is tried again (console.md §3.1).

/** How often a read that was answered 429 or 503 is tried again. */
export const READ_RETRIES = 3;

/** Milliseconds before the attempt after `failures` of them, with the connection lost: 1, 2, 4 … 30 s. */
export function reconnectDelay(failures: number): number {
  return Math.min(1000 * 2 ** failures, 30_000);
}

/** Milliseconds that `Retry-After` asks for, as seconds or as a date; one second where it is absent. */
export function retryAfter(header: string | null, now: number): number {
  if (header === null || header === "") return 1000;
  const seconds = Number(header);
  const wait = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(wait) ? 1000 : Math.min(Math.max(wait, 0), 60_000);
}

/** Waits; ends early, with the signal's reason, when the signal says so. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
