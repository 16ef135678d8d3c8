// Files on their way into collections. They go on while other parts of the console are looked at.

import { ApiError } from "../../api-error";
import { collectionPath } from "./knowledge-types";
import { sendFile } from "./send-file";

export type UploadState = "waiting" | "sending" | "done" | "failed" | "stopped";

export class Upload {
  state = $state<UploadState>("waiting");
  sent = $state(0);
  error = $state("");
  #sending = new AbortController();

  constructor(
    readonly id: number,
    readonly collection: string,
    readonly file: File,
  ) {}

  abort(): void {
    this.#sending.abort();
    if (this.state === "waiting") this.state = "stopped";
  }

  async send(): Promise<void> {
    this.#sending = new AbortController();
    this.state = "sending";
    this.error = "";
    const { signal } = this.#sending;
    try {
      const path = `${collectionPath(this.collection)}/documents`;
      await sendFile({ path, file: this.file, signal, onProgress: (sent) => (this.sent = sent) });
      this.sent = this.file.size;
      this.state = "done";
    } catch (cause) {
      this.state = signal.aborted ? "stopped" : "failed";
      this.error = cause instanceof ApiError ? cause.message : String(cause);
    }
  }
}

let all = $state.raw<readonly Upload[]>([]);
/** Counts what has arrived, so that lists are read again. */
let arrived = $state(0);
let count = 0;
let isRunning = false;

export function uploadsOf(collection: string): readonly Upload[] {
  return all.filter((upload) => upload.collection === collection);
}

export function arrivedUploads(): number {
  return arrived;
}

export function upload(collection: string, files: Iterable<File>): void {
  const added = [...files].map((file) => new Upload((count += 1), collection, file));
  all = [...all, ...added];
  void run();
}

export function sendAgain(one: Upload): void {
  one.state = "waiting";
  one.sent = 0;
  void run();
}

/** Forgets those of a collection that are over. */
export function forgetUploads(collection: string): void {
  all = all.filter((one) => one.collection !== collection || one.state === "waiting" || one.state === "sending");
}

/** Sends one after the other. */
async function run(): Promise<void> {
  if (isRunning) return;
  isRunning = true;
  for (;;) {
    const next = all.find((one) => one.state === "waiting");
    if (!next) break;
    await next.send();
    arrived += 1;
  }
  isRunning = false;
}
