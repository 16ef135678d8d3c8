/** Where checkpoints, the values of their channels and their writes are kept. */

import { join } from "./keys.js";

/** Kinds of rows: checkpoints, children of checkpoints, values of channels, writes. */
export const KINDS = ["c", "n", "w", "b"];
/** The type of a channel that has a version and no value. */
export const EMPTY = "empty";
/** Indexes of writes may be negative. */
const FIRST = 10;
/** The index of a write, from the last part of its key. */
export const indexOf = (part) => Number(part) - FIRST;

/** A namespace of a thread, and where its rows are. */
export class Place {
  constructor(thread, namespace) {
    this.thread = thread;
    this.namespace = namespace;
  }

  static of(config) {
    const { thread_id: thread, checkpoint_ns: namespace } = config.configurable ?? {};
    if (thread === undefined) throw new Error('config.configurable has no "thread_id"');
    return new Place(String(thread), namespace ?? "");
  }

  checkpoint(id) {
    return join("c", this.thread, this.namespace, id);
  }

  child(parent) {
    return join("n", this.thread, this.namespace, parent ?? "");
  }

  blob(channel, version) {
    return join("b", this.thread, this.namespace, channel, String(version));
  }

  writes(id) {
    return join("w", this.thread, this.namespace, id, "");
  }

  write(id, task, index) {
    return `${join("w", this.thread, this.namespace, id, task, "")}${String(index + FIRST).padStart(6, "0")}`;
  }

  config(id) {
    return {
      configurable: {
        thread_id: this.thread,
        checkpoint_ns: this.namespace,
        checkpoint_id: id,
      },
    };
  }
}

/** Bytes in base64. */
export function encode(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(text);
}

/** Bytes from base64. */
export function decode(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
