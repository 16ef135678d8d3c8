// Columns of the tables of the system.

import type { PlainColumn } from "../../components/columns";
import { ago, bytes, duration, number, time, timeWithZone } from "../../format";
import { say } from "../../texts";
import { systemTexts as t } from "../../texts/system";
import type { FileProblem, Finding, Lease, NodeInfo, StoreInfo } from "./system-types";

const count = (value: number | null) => (value === null ? "–" : String(value));

export const STORE_COLUMNS: readonly PlainColumn<StoreInfo>[] = [
  { name: "name", title: t.name, text: (store) => store.name },
  { name: "kind", title: t.kind, text: (store) => store.kind },
  { name: "role", title: t.role, text: (store) => store.role },
  { name: "state", title: t.state, text: (store) => store.state },
  { name: "latency_ms", title: t.latency, text: (store) => duration(store.latency_ms), isNumber: true },
  { name: "bytes", title: t.size, text: (store) => (store.bytes === null ? "–" : bytes(store.bytes)), isNumber: true },
  { name: "error", title: t.error, text: (store) => store.error ?? "–" },
];

export const NODE_COLUMNS: readonly PlainColumn<NodeInfo>[] = [
  { name: "id", title: t.id, text: (node) => node.id },
  { name: "version", title: t.version, text: (node) => node.version },
  { name: "started_at", title: t.since, text: (node) => time(node.started_at), hint: (node) => timeWithZone(node.started_at) },
  { name: "seen_at", title: t.seen, text: (node) => ago(node.seen_at), hint: (node) => timeWithZone(node.seen_at) },
  { name: "turns", title: t.turns, text: (node) => number(node.turns), isNumber: true },
];

export const LEASE_COLUMNS: readonly PlainColumn<Lease>[] = [
  { name: "request_id", title: t.turn, text: (lease) => lease.request_id },
  { name: "context", title: t.context, text: (lease) => lease.context ?? "–" },
  { name: "assistant_id", title: t.agent, text: (lease) => lease.assistant_id },
  { name: "node", title: t.node, text: (lease) => lease.node ?? "–" },
  { name: "epoch", title: t.epoch, text: (lease) => count(lease.epoch), isNumber: true },
  {
    name: "expires_at",
    title: t.leaseEnds,
    text: ({ expires_at }) => (expires_at === null ? "–" : ago(expires_at)),
    hint: ({ expires_at }) => (expires_at === null ? "–" : timeWithZone(expires_at)),
  },
  { name: "waiting", title: t.waits, text: (lease) => number(lease.waiting), isNumber: true },
];

export const PROBLEM_COLUMNS: readonly PlainColumn<FileProblem>[] = [
  { name: "severity", title: t.severity, text: (problem) => problem.severity },
  { name: "file", title: t.file, text: (problem) => problem.file },
  { name: "line", title: t.line, text: (problem) => count(problem.line), isNumber: true },
  { name: "column", title: t.column, text: (problem) => count(problem.column), isNumber: true },
  { name: "message", title: t.message, text: (problem) => problem.message },
];

export const FINDING_COLUMNS: readonly PlainColumn<Finding>[] = [
  { name: "place", title: t.place, text: (finding) => finding.place },
  { name: "what", title: t.finding, text: (finding) => finding.what },
  { name: "mended", title: t.mended, text: (finding) => say(finding.mended ? t.yes : t.no) },
];
