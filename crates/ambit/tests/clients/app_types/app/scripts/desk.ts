import type { AppTools } from "@ambit/runtime";

export function Find(asked: AppTools["desk"]["find"]) {
  const state = asked.state ?? "open";
  return Process("models.ticket.Get", { wheres: [{ column: "state", value: state }], limit: asked.most ?? 5 });
}

export function All() {
  return Process("models.ticket.Get");
}
