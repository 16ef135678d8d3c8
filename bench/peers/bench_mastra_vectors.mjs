// Vectors of 384 numbers on Mastra's LibSQLVector.  usage: node bench_mastra_vectors.mjs libsql
// The embedding model costs nothing here: a chunk's vector is there before it is asked for.
import fs from "node:fs"; import path from "node:path";
import { LibSQLVector } from "@mastra/libsql";
const P = "Mastra core 1.71.0", E = process.env, BASE = E.BENCH_TMP || "/tmp/bench-peers";
const CHUNKS = (E.CHUNKS || "1000,100000").split(",").map(Number), DIMENSION = 384, COMMIT = 250, QUERIES = 100, WORDS = 150;
// Who would need longer for a size says so, and goes on without its index, as it does in memory: then it compares all.
const PATIENCE = +(E.PATIENCE || 60);
// Who needs longer for the queries is asked fewer.
const ASKING = 15, FEWEST = 30;
const INDEXED = "LibSQLVector, its index; the text is metadata; synchronous=NORMAL: no fsync at commit";
const emit = (work, p, v, unit, note) => console.log(JSON.stringify({ peer: P, backend: "sqlite", work, p, v, unit, note }));
let state = 1;
const fraction = () => { state = (state + 0x6d2b79f5) | 0; let t = Math.imul(state ^ (state >>> 15), 1 | state); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32; };
const vector = () => Array.from({ length: DIMENSION }, () => fraction() * 2 - 1);
const text = () => Array.from({ length: WORDS }, () => Math.floor(50000 ** fraction()).toString(36) + "er").join(" ");
const percentile = (spent, p) => { const s = [...spent].sort((a, b) => a - b); return s[Math.max(0, Math.ceil((s.length * p) / 100) - 1)]; };
const now = () => performance.now();
const WORK = (E.WORK || "W13,W14").split(",");
for (const size of WORK.includes("W13") || WORK.includes("W14") ? CHUNKS : []) {
  const folder = path.join(BASE, `vectors-mastra-${size}`); fs.rmSync(folder, { recursive: true, force: true }); fs.mkdirSync(folder, { recursive: true });
  const store = new LibSQLVector({ id: "v", url: "file:" + path.join(folder, "v.db") });
  await store.createIndex({ indexName: "kb", dimension: DIMENSION, metric: "cosine" });
  let spent = 0, some, note = INDEXED, tooSlow = false;
  for (let first = 0; first < size && !tooSlow; first += COMMIT) {
    const count = Math.min(COMMIT, size - first), ids = Array.from({ length: count }, (_, at) => String(first + at));
    const vectors = ids.map(vector), metadata = ids.map(() => ({ text: text() }));
    const start = now(); await store.upsert({ indexName: "kb", vectors, metadata, ids }); spent += (now() - start) / 1e3;
    if (first === 0) some = vectors[7];
    const expected = (spent / (first + count)) * size;
    tooSlow = expected > PATIENCE;
    if (tooSlow && note === INDEXED) {
      console.log(JSON.stringify({ failed: `${P}, an index of ${size} vectors`, why: `would need ${Math.round(expected)} s` }));
      await store.turso.execute("DROP INDEX kb_vector_idx"); store.vectorIndexes.delete("kb_vector_idx");
      note = "LibSQLVector without its index, which would take too long; the text is metadata"; spent = 0; tooSlow = false;
    }
  }
  if (tooSlow) { console.log(JSON.stringify({ failed: `${P}, ${size} vectors`, why: `would need more than ${PATIENCE} s to store them` })); await store.close(); continue; }
  if (note === INDEXED) emit("W13 index with vectors", size, size / spent, "chunks/s", note);
  const found = await store.query({ indexName: "kb", queryVector: some, topK: 10 });
  if (found.length !== 10 || found[0].id !== "7") throw new Error("found " + JSON.stringify(found.map((it) => it.id)));
  const times = [];
  for (let n = 0; n < QUERIES; n++) { const asked = vector(), start = now(); await store.query({ indexName: "kb", queryVector: asked, topK: 10 }); times.push(now() - start);
    if (times.reduce((all, time) => all + time) > ASKING * 1e3 && times.length >= FEWEST) break; }
  for (const p of [50, 99]) emit(`W14 query by vector, p${p}`, size, percentile(times, p), "ms", note);
  await store.close();
}
