// What the palette offers for a query.

import { api } from "./api";
import { say, type Text } from "./texts";
import { shell as t } from "./texts/shell";

export interface PaletteEntry {
  label: string;
  view: string;
  id: string | null;
}

interface Agent {
  assistant_id: string;
  name: string;
}

interface NamedView {
  name: string;
  title: Text;
}

const MOST_AGENTS = 8;
/** Views that open an id which one may have pasted. */
const BY_ID = ["turns", "contexts", "chats"];

export async function readAgents(): Promise<Agent[]> {
  const page = await api.get<{ data: Agent[] }>("/agent/assistants", { query: { pagesize: 100 } });
  return page.data;
}

export function paletteEntries(query: string, views: readonly NamedView[], agents: readonly Agent[]): PaletteEntry[] {
  const wanted = query.trim();
  const matches = (text: string) => text.toLowerCase().includes(wanted.toLowerCase());
  const found: PaletteEntry[] = views
    .filter((view) => matches(say(view.title)) || matches(view.name))
    .map((view) => ({ label: say(view.title), view: view.name, id: null }));
  if (wanted === "") return found;
  for (const agent of agents.filter((agent) => matches(agent.name) || matches(agent.assistant_id)).slice(0, MOST_AGENTS)) {
    found.push({ label: say(t.agent, { name: agent.name }), view: "agents", id: agent.assistant_id });
  }
  if (/^[\w.-]{8,}$/.test(wanted)) found.push(...itemEntries(wanted, views));
  return found;
}

/** A call's id begins with that of its turn. */
function itemEntries(id: string, views: readonly NamedView[]): PaletteEntry[] {
  const turn = id.replace(/\.(call-\d+|c\d+)$/, "");
  return views
    .filter((view) => BY_ID.includes(view.name))
    .map((view) => ({ label: say(t.openAs, { id, view: say(view.title) }), view: view.name, id: view.name === "turns" ? turn : id }));
}
