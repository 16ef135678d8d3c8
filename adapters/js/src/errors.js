/** What can go wrong. */

/** The server refused a request. */
export class StoreError extends Error {
  constructor(status, code, message, details) {
    super(`${message} (${status} ${code})`);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.details = details ?? {};
  }
}

/** A key does not have the version that was expected; nothing was written. `details` has `key` and `version`. */
export class StoreConflict extends StoreError {}

/** Another run went on from the same checkpoint; nothing was written. */
export class CheckpointConflict extends Error {
  constructor(threadId, checkpointNs, reason) {
    const namespace = checkpointNs ? `, namespace "${checkpointNs}"` : "";
    super(`thread "${threadId}"${namespace}: ${reason}`);
    this.name = "CheckpointConflict";
    this.threadId = threadId;
    this.checkpointNs = checkpointNs;
  }
}
