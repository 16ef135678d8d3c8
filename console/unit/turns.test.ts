import { expect, test } from "vitest";
import { lineDiff } from "../src/line-diff";
import { contentText, pairBlocks } from "../src/views/turns/call-diff";
import type { ManifestBlock } from "../src/views/turns/call-types";
import { place, ticks } from "../src/views/turns/time-scale";
import { criticalPath, summarize, timelineRows, type TimelineOptions } from "../src/views/turns/timeline-rows";
import { agentChain, firstToken, TraceModel } from "../src/views/turns/trace-model";
import type { TraceEvent } from "../src/views/turns/turn-types";

interface Made {
  id: string;
  parents?: string[];
  type?: string;
  label?: string;
  from?: number;
  to?: number | null;
}

function start({ id, parents = [], type = "step", label = id, from = 0 }: Made): TraceEvent {
  const node = {
    id, parent_ids: parents, label, type, icon: "", description: "", metadata: {}, status: "running",
    input: null, output: null, error: null, start_at: from, end_at: null,
  };
  return { type: "node_start", node };
}

function model(made: readonly Made[]): TraceModel {
  const tree = new TraceModel();
  for (const node of made) tree.apply(start(node));
  for (const { id, to } of made) if (to !== null) tree.apply({ type: "node_complete", id, status: "completed", at: to ?? 0 });
  return tree;
}

const ALL: TimelineOptions = {
  filter: { type: "", status: "", text: "" }, isFolded: true, closed: new Set(), opened: new Set(), shown: null,
};
const laidOut = (tree: TraceModel, options: Partial<TimelineOptions> = {}) =>
  timelineRows(tree, { ...ALL, ...options }).map((row) => `${"·".repeat(row.level - 1)}${row.id}`);

const SMALL = [
  { id: "n1", type: "turn", from: 0, to: 100 },
  { id: "n2", parents: ["n1"], type: "hook", from: 1, to: 20 },
  { id: "n3", parents: ["n2"], from: 2, to: 10 },
  { id: "n4", parents: ["n1"], type: "llm", from: 21, to: 90 },
  { id: "n5", parents: ["n3", "n4"], from: 30, to: 95 },
];

test("the tree hangs each node below its first parent", () => {
  expect(laidOut(model(SMALL))).toEqual(["n1", "·n2", "··n3", "···n5", "·n4"]);
});

test("a node whose parent is unknown is a root, and one that comes twice is one", () => {
  const tree = model([{ id: "n7", parents: ["n6"] }]);
  tree.apply(start({ id: "n7", parents: ["n6"] }));
  expect(laidOut(tree)).toEqual(["n7"]);
});

test("events change nodes, lines and boards", () => {
  const tree = model(SMALL.slice(0, 2));
  tree.apply({ type: "node_updated", id: "n2", metadata: { cpu_ms: 1 }, facts: { of: "hook" }, at: 120, left_out: ["metadata.memory"] });
  tree.apply({ type: "node_failed", id: "n2", error: "no", at: 130 });
  tree.apply({ type: "log_added", node_id: "n2", level: "info", message: "hello", data: null, at: 131 } as TraceEvent);
  tree.apply({ type: "memory_add", at: 132 });
  tree.apply({ type: "call", at: 133 });
  tree.apply({ type: "complete", status: "failed", at: 140 });
  const node = tree.find("n2");
  expect([node?.status, node?.error, node?.endAt, node?.metadata, [...(node?.leftOut ?? [])]]).toEqual(
    ["failed", "no", 130, { cpu_ms: 1 }, ["metadata.memory"]],
  );
  expect([tree.logs.length, tree.spaceChanges, tree.callChanges, tree.status, tree.span]).toEqual([1, 1, 1, "failed", { from: 0, to: 140 }]);
});

const MANY = [
  { id: "n1", type: "turn", to: 100 },
  ...Array.from({ length: 5 }, (_, index) => ({ id: `a${index}`, parents: ["n1"], type: "tool", label: "find", from: 0, to: 10 * (index + 1) })),
  { id: "b", parents: ["n1"], type: "tool", label: "total", to: 1 },
  ...Array.from({ length: 4 }, (_, index) => ({ id: `c${index}`, parents: ["n1"], type: "tool", label: "find", to: 1 })),
];

test("five consecutive siblings that are alike are one row, four are not", () => {
  const tree = model(MANY);
  expect(laidOut(tree)).toEqual(["n1", "·fold-a0", "·b", "·c0", "·c1", "·c2", "·c3"]);
  expect(laidOut(tree, { isFolded: false })).toHaveLength(11);
  expect(laidOut(tree, { opened: new Set(["fold-a0"]) }).slice(1, 4)).toEqual(["·fold-a0", "··a0", "··a1"]);
});

test("a fold is open where the node that is to be seen is in it, until somebody closes it", () => {
  const tree = model(MANY);
  expect(laidOut(tree, { shown: "a3" })).toContain("··a3");
  expect(laidOut(tree, { shown: "a3", closed: new Set(["fold-a0"]) })).not.toContain("··a3");
});

test("a fold says how many, the median, the longest, and what failed", () => {
  const tree = model(MANY);
  tree.apply({ type: "node_failed", id: "a4", error: "no", at: 90 });
  tree.apply(start({ id: "a5", from: 0 }));
  const nodes = ["a0", "a1", "a2", "a4", "a5"].map((id) => tree.find(id)).filter((node) => node !== undefined);
  expect(summarize(nodes)).toEqual({ count: 5, median: 25, longest: 90, failed: 1, running: 1 });
});

test("filters keep what matches and what is above it", () => {
  const tree = model(SMALL);
  const filter = { type: "", status: "", text: "N5" };
  expect(laidOut(tree, { filter })).toEqual(["n1", "·n2", "··n3", "···n5"]);
  expect(timelineRows(tree, { ...ALL, filter }).map((row) => row.kind === "node" && row.isContext)).toEqual([true, true, true, false]);
  expect(laidOut(tree, { filter: { ...filter, text: "", type: "llm" } })).toEqual(["n1", "·n4"]);
  expect(laidOut(tree, { filter: { ...filter, text: "", status: "failed" } })).toEqual([]);
});

test("what is below a closed node is not shown", () => {
  expect(laidOut(model(SMALL), { closed: new Set(["n2"]) })).toEqual(["n1", "·n2", "·n4"]);
});

test("a tree as deep as a trace may have nodes is laid out", () => {
  const made = Array.from({ length: 10_000 }, (_, index) => ({ id: `n${index}`, parents: index === 0 ? [] : [`n${index - 1}`], from: index, to: 20_000 }));
  const tree = model(made);
  expect(timelineRows(tree, { ...ALL, filter: { ...ALL.filter, text: "n9999" }, shown: "n9999" })).toHaveLength(10_000);
  expect(criticalPath(tree.roots).size).toBe(10_000);
});

test("the critical path goes to the child that ended last, and to one that runs before all others", () => {
  expect([...criticalPath(model(SMALL).roots)]).toEqual(["n1", "n4"]);
  const running = model(SMALL.map((node) => (node.id === "n2" || node.id === "n1" ? { ...node, to: null } : node)));
  expect([...criticalPath(running.roots)]).toEqual(["n1", "n2", "n3", "n5"]);
});

test("bars stand at their times, and what runs reaches to the end", () => {
  const span = { from: 100, to: 300 };
  expect(place(span, 150, 200)).toEqual({ start: 25, width: 25 });
  expect(place(span, 200, null)).toEqual({ start: 50, width: 50 });
  expect(place({ from: 5, to: 5 }, 5, 5)).toEqual({ start: 0, width: 0 });
  expect(ticks(1000, 5).map((tick) => tick.at)).toEqual([0, 200, 400, 600, 800]);
  expect(ticks(0, 5).map((tick) => tick.at)).toEqual([0]);
});

test("agents are named in the order of their work, first tokens as the metadata or the facts say", () => {
  const tree = model([
    { id: "n1", type: "turn", label: "front" },
    { id: "n2", parents: ["n1"], type: "agent", label: "front" },
    { id: "n3", parents: ["n1"], type: "agent", label: "back" },
  ]);
  expect(agentChain(tree.nodes)).toEqual(["front", "back"]);
  expect(firstToken({ metadata: { ttft_ms: 3 }, facts: { first_chunk_ms: 4 } })).toBe(3);
  expect(firstToken({ metadata: {}, facts: { first_chunk_ms: 4 } })).toBe(4);
});

const block = (n: number, hash: string, source: Record<string, unknown>, kind = "history"): ManifestBlock =>
  ({ n, hash, source, kind, role: "user", bytes: 1, tokens: 1, cut: [] });
const paired = (before: ManifestBlock[], now: ManifestBlock[]) =>
  pairBlocks(before, now).map((pair) => `${pair.change} ${pair.before?.hash ?? "-"} ${pair.now?.hash ?? "-"}`);

test("blocks of one hash are the same, of one source changed, the rest added or gone", () => {
  const before = [
    block(0, "a", { file: "p.yml", index: 0, version: "v1" }, "prompt"),
    block(1, "b", { message_id: "m1" }), block(2, "c", { message_id: "m2" }), block(3, "d", { message_id: "m3" }),
  ];
  const now = [
    block(0, "A", { file: "p.yml", index: 0, version: "v2" }, "prompt"),
    block(1, "c", { message_id: "m2" }), block(2, "e", { message_id: "m4" }), block(3, "d", { message_id: "m3" }),
  ];
  expect(paired(before, now)).toEqual(["changed a A", "gone b -", "same c c", "added - e", "same d d"]);
});

test("a call that goes on where another ended only adds", () => {
  const before = [block(0, "a", { message_id: "m1" }), block(1, "b", { message_id: "m2" })];
  expect(paired(before, [...before, block(2, "c", { message_id: "m3" })])).toEqual(["same a a", "same b b", "added - c"]);
});

test("texts are compared by lines", () => {
  expect(lineDiff("one\ntwo\nthree\n", "one\n2\nthree\n")).toEqual([
    { change: "same", text: "one" }, { change: "gone", text: "two" }, { change: "added", text: "2" }, { change: "same", text: "three" },
  ]);
  expect(contentText({ role: "user", content: "hello" })).toBe("hello");
  expect(contentText({ role: "user", content: [] })).toBe('{\n  "role": "user",\n  "content": []\n}');
});
