// What the palette offers for a query.

import { say, type Text } from "./texts";
import { shell as t } from "./texts/shell";
import type { Filters } from "./url";

export interface PaletteEntry {
  label: string;
  view: string;
  id: string | null;
  filters: Filters;
}

export interface NamedAgent {
  assistant_id: string;
  name: string;
}

interface NamedView {
  name: string;
  title: Text;
}

const MOST_AGENTS = 8;
const PASTED = /^[\w.:-]{8,}$/;
/** Ids of requests and of keys begin with their time. */
const REQUEST = /^[0-9a-z]{26}$/;
/** What belongs to a turn begins with its id: calls of models, and the run contexts of its agents. */
const OF_TURN = /^(.+)\.(?:(call)-|c)\d+$/;

export function paletteEntries(query: string, views: readonly NamedView[], agents: readonly NamedAgent[]): PaletteEntry[] {
  const wanted = query.trim();
  const matches = (text: string) => text.toLowerCase().includes(wanted.toLowerCase());
  const found: PaletteEntry[] = views
    .filter((view) => matches(say(view.title)) || matches(view.name))
    .map((view) => ({ label: say(view.title), view: view.name, id: null, filters: {} }));
  if (wanted === "") return found;
  for (const agent of agents.filter((agent) => matches(agent.name) || matches(agent.assistant_id)).slice(0, MOST_AGENTS)) {
    found.push({ label: say(t.agent, { name: agent.name }), view: "agents", id: agent.assistant_id, filters: {} });
  }
  if (PASTED.test(wanted)) found.push(...itemEntries(wanted, views));
  return found;
}

/** Where a pasted id may lead, the likeliest first: of most ids it cannot be told what they are of. */
function itemEntries(id: string, views: readonly NamedView[]): PaletteEntry[] {
  const opened = (name: string, item: string, filters: Filters = {}): PaletteEntry[] =>
    views.filter((view) => view.name === name).map((view) => ({ label: say(t.openAs, { id, view: say(view.title) }), view: name, id: item, filters }));
  const filtered = (view: string, text: Text, filters: Filters): PaletteEntry[] =>
    views.some(({ name }) => name === view) ? [{ label: say(text, { id }), view, id: null, filters }] : [];

  const [, turn, isCall] = OF_TURN.exec(id) ?? [];
  if (turn) return opened("turns", turn, isCall ? { tab: "calls", call: id } : {});
  const turns = opened("turns", id);
  const rows = [...opened("chats", id), ...opened("contexts", id)];
  return [
    ...(REQUEST.test(id) ? [...turns, ...rows] : [...rows, ...turns]),
    ...filtered("contexts", t.chatContexts, { chat: id }),
    ...filtered("access", t.keyRights, { tab: "explain", who: id }),
  ];
}
