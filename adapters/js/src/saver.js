/** A checkpointer for LangGraph.js. */

import {
  BaseCheckpointSaver,
  TASKS,
  WRITES_IDX_MAP,
  compareWritesSortKeys,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { EMPTY, KINDS, Place, decode, encode, indexOf } from "./checkpoints.js";
import { entries, get, put } from "./client.js";
import { CheckpointConflict, StoreConflict } from "./errors.js";
import { join, split } from "./keys.js";

/** The field of `configurable` with which a run begins a further branch. */
const FORK = "ambit_fork";
/** The channel that the input of a graph stands in. */
const START = "__start__";
/** Checkpoints that are read at once. */
const STEP = 50;

/**
 * Keeps the checkpoints of LangGraph.js in an Ambit server.
 *
 * A checkpoint and the values of its channels are one commit. Of two runs that go on from the same checkpoint one is stored, and the
 * other one throws `CheckpointConflict`; `updateState` and replays make branches as they like.
 */
export class AmbitSaver extends BaseCheckpointSaver {
  constructor(client, serde) {
    super(serde);
    this.client = client;
  }

  async getTuple(config) {
    if (config.configurable?.thread_id === undefined) return undefined;
    const place = Place.of(config);
    let id = getCheckpointId(config);
    let found;
    if (id) {
      [found] = await this.client.batch([get(place.checkpoint(id))]);
    } else {
      const newest = entries(place.checkpoint(""), { limit: 1, reverse: true, values: true });
      const [listed] = await this.client.batch([newest]);
      [found] = listed.items;
      if (found) id = split(found.key)[3];
    }
    if (!found) return undefined;
    return (await this.#tuples([{ place, id, row: found.value }]))[0];
  }

  async *list(config, { limit, before, filter } = {}) {
    const { thread_id: thread, checkpoint_ns: namespace } = config.configurable ?? {};
    const named = config.configurable?.checkpoint_id;
    const bound = before?.configurable?.checkpoint_id;
    const prefix = ["c", ...(thread === undefined ? [] : [String(thread)])];
    const items = await this.client.readAll(join(...prefix, ""));
    let keys = items.map(({ key }) => ({ key, parts: split(key) }));
    keys = keys.filter(({ parts: [, , ns, id] }) => {
      const isHere = namespace === undefined || ns === namespace;
      return isHere && (!named || id === named) && (!bound || id < bound);
    });
    keys.sort((a, b) => (a.parts[3] < b.parts[3] ? 1 : -1));
    let left = limit ?? Infinity;
    for (let start = 0; start < keys.length && left > 0; start += STEP) {
      const part = keys.slice(start, start + STEP);
      const rows = await this.client.read(part.map(({ key }) => get(key)));
      const found = [];
      for (const [at, row] of rows.entries()) {
        if (!row || found.length >= left || !(await this.#matches(row.value, filter))) continue;
        const [, owner, ns, id] = part[at].parts;
        found.push({ place: new Place(owner, ns), id, row: row.value });
      }
      left -= found.length;
      yield* await this.#tuples(found);
    }
  }

  async put(config, checkpoint, metadata, newVersions = {}) {
    const place = Place.of(config);
    const parent = config.configurable?.checkpoint_id;
    const prepared = copyCheckpoint(checkpoint);
    const ops = await Promise.all(
      Object.entries(newVersions).map(async ([channel, version]) => {
        const has = Object.hasOwn(prepared.channel_values, channel);
        const value = has ? await this.#dump(prepared.channel_values[channel]) : [EMPTY, ""];
        return put(place.blob(channel, version), value);
      }),
    );
    const row = {
      parent: parent ?? null,
      channels: Object.entries(prepared.channel_versions),
      checkpoint: await this.#dump({ ...prepared, channel_values: {} }),
      metadata: await this.#dump(metadata),
    };
    ops.push(put(place.checkpoint(checkpoint.id), row));
    await this.#putChild(place, ops, { config, checkpoint, metadata, newVersions });
    return place.config(checkpoint.id);
  }

  async putWrites(config, writes, taskId, taskPath) {
    const place = Place.of(config);
    const id = config.configurable?.checkpoint_id;
    if (id === undefined) throw new Error('config.configurable has no "checkpoint_id"');
    const ops = new Map();
    for (const [at, [channel, value]] of writes.entries()) {
      const index = WRITES_IDX_MAP[channel] ?? at;
      const row = { channel, path: taskPath ?? "", value: await this.#dump(value) };
      const conditions = index >= 0 && !config.configurable?.[FORK] ? { expect: 0 } : {};
      const key = place.write(id, taskId, index);
      // Of two writes to one special channel the last one counts.
      ops.set(key, put(key, row, conditions));
    }
    if (ops.size === 0) return;
    try {
      await this.client.batch([...ops.values()]);
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      await this.#putMissingWrites(place, id, [...ops.values()]);
    }
  }

  async deleteThread(threadId) {
    for (const kind of KINDS) await this.client.deleteAll(join(kind, String(threadId), ""));
  }

  /** Versions that branches do not share: a number that grows, and one that is drawn. */
  getNextVersion(current) {
    const number = current === undefined ? 0 : Number.parseInt(String(current).split(".")[0], 10);
    return `${String(number + 1).padStart(32, "0")}.${String(Math.random()).padEnd(20, "0")}`;
  }

  async #putChild(place, ops, { config, checkpoint, metadata, newVersions }) {
    const parent = config.configurable?.checkpoint_id;
    const isFork = Boolean(config.configurable?.[FORK]) && metadata?.source === "input";
    const goesOn = ["input", "loop"].includes(metadata?.source) && !isFork;
    // The input of a graph begins a thread; without it somebody else stores checkpoints of their own.
    const isFirst = !parent && metadata?.step === -1 && Object.hasOwn(newVersions, START);
    if (goesOn && isFirst) await this.#refuseUsed(place, checkpoint.id);
    const child = place.child(parent);
    if (!parent && !isFirst) {
      await this.client.batch(ops);
    } else if (!goesOn) {
      await this.client.batch([...ops, put(child, checkpoint.id)]);
    } else {
      await this.#putOnlyChild(place, ops, child, checkpoint.id);
    }
  }

  async #putOnlyChild(place, ops, child, id) {
    try {
      await this.client.batch([...ops, put(child, id, { expect: 0 })]);
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      const [found] = await this.client.batch([get(child)]);
      if (found?.value !== id) {
        const reason = "another run went on from the same checkpoint";
        throw new CheckpointConflict(place.thread, place.namespace, reason);
      }
      // The same checkpoint again: its first answer did not arrive.
      await this.client.batch([...ops, put(child, id, { expect: found.version })]);
    }
  }

  async #refuseUsed(place, id) {
    const [{ items }] = await this.client.batch([entries(place.checkpoint(""), { limit: 1 })]);
    if (items.length > 0 && split(items[0].key)[3] !== id) {
      const reason = "another run has begun the thread";
      throw new CheckpointConflict(place.thread, place.namespace, reason);
    }
  }

  async #putMissingWrites(place, id, ops) {
    const items = await this.client.readAll(place.writes(id), { values: true });
    const stored = new Map(items.map(({ key, value }) => [key, JSON.stringify(value.value)]));
    const missing = ops.filter(({ key, expect, value }) => {
      if (expect === undefined || !stored.has(key)) return true;
      if (stored.get(key) === JSON.stringify(value.value)) return false;
      const reason = "another run has done the same task with another result";
      throw new CheckpointConflict(place.thread, place.namespace, reason);
    });
    if (missing.length > 0) await this.client.batch(missing);
  }

  async #matches(row, filter) {
    const wanted = Object.entries(filter ?? {});
    if (wanted.length === 0) return true;
    const metadata = await this.#load(row.metadata);
    return wanted.every(([name, value]) => metadata[name] === value);
  }

  /** Puts checkpoints together; a channel's value that several have is read once. */
  async #tuples(found) {
    const blobs = new Set();
    for (const { place, row } of found) {
      for (const [channel, version] of row.channels) blobs.add(place.blob(channel, version));
    }
    const asked = [...blobs].map(get);
    for (const { place, id } of found) asked.push(entries(place.writes(id), { values: true }));
    const answers = await this.client.read(asked);
    const stored = new Map([...blobs].map((key, at) => [key, answers[at]?.value]));
    const tuples = found.map((one, at) => this.#tuple(one, stored, answers[blobs.size + at].items));
    return Promise.all(tuples);
  }

  async #tuple({ place, id, row }, stored, writes) {
    const checkpoint = await this.#load(row.checkpoint);
    checkpoint.channel_values = {};
    for (const [channel, version] of row.channels) {
      const blob = stored.get(place.blob(channel, version));
      if (blob && blob[0] !== EMPTY) checkpoint.channel_values[channel] = await this.#load(blob);
    }
    if (checkpoint.v < 4 && row.parent) await this.#migrateSends(checkpoint, place, row.parent);
    const tuple = {
      config: place.config(id),
      checkpoint,
      metadata: await this.#load(row.metadata),
      pendingWrites: await this.#writes(writes),
    };
    if (row.parent) tuple.parentConfig = place.config(row.parent);
    return tuple;
  }

  /** What older versions of LangGraph sent stands in the writes of the parent. */
  async #migrateSends(checkpoint, place, parent) {
    const items = await this.client.readAll(place.writes(parent), { values: true });
    const writes = await this.#writes(items);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = writes
      .filter(([, channel]) => channel === TASKS)
      .map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  /** Stored writes, in the order in which a run applies them. */
  async #writes(items) {
    const ordered = items.map(({ key, value }) => {
      const [task, index] = split(key).slice(-2);
      return { order: writesSortKey(value.path, task, indexOf(index)), task, row: value };
    });
    ordered.sort((a, b) => compareWritesSortKeys(a.order, b.order));
    const loaded = ordered.map(async ({ task, row }) => [task, row.channel, await this.#load(row.value)]);
    return Promise.all(loaded);
  }

  async #dump(value) {
    const [kind, bytes] = await this.serde.dumpsTyped(value);
    return [kind, encode(bytes)];
  }

  async #load([kind, text]) {
    return this.serde.loadsTyped(kind, decode(text));
  }
}
