// The filters of a timeline: types and states that its trace has, and a text.

import type { FilterField } from "../../components/filter-fields";
import { turnsTexts as t } from "../../texts/turns";
import type { TreeNode } from "./trace-model";
import { statusText } from "./turn-table";

export function timelineFields(nodes: readonly TreeNode[]): FilterField[] {
  const values = (of: (node: TreeNode) => string) => [...new Set(nodes.map(of))].filter((value) => value !== "").sort();
  return [
    { name: "type", label: t.type, options: values((node) => node.type).map((value) => ({ value, label: value })) },
    { name: "node_status", label: t.status, options: values((node) => node.status).map((value) => ({ value, label: statusText(value) })) },
    { name: "q", label: t.text },
  ];
}
