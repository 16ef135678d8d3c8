// What the pictures show: a shop of lamps, as if it had been in use for some days. All times are fixed.

/** When the pictures are taken. */
export const NOW = Date.UTC(2026, 10, 27, 10, 24);
/** When the server was started. */
export const STARTED = Date.UTC(2026, 10, 24, 8, 0);

const at = (day, hour, minute) => Date.UTC(2026, 10, day, hour, minute);

/** What was said, in order: when, by whom, to whom, in which chat, and how long the answer took. */
export const TURNS = [
  { at: at(25, 9, 12), user: "ben", agent: "guide", chat: "care", text: "How do I clean linen?", duration: 1870 },
  { at: at(25, 15, 40), user: "chloe", agent: "shop", chat: "kitchen", text: "A brass pendant for the kitchen, please.", duration: 3120 },
  { at: at(26, 8, 5), user: "dan", agent: "bookkeeper", chat: "1042", text: "Write the invoice for order 1042.", duration: 2240 },
  { at: at(26, 11, 31), user: "chloe", agent: "shop", chat: "engraving", text: "Can you engrave a name?", duration: 410 },
  { at: at(26, 16, 2), user: "dan", agent: "editor", chat: "catalogue", text: "Write the catalogue text of Alma mini.", duration: 2960 },
  { at: at(27, 7, 48), user: "ben", agent: "shop", chat: "order", text: "Where is my order 1038?", duration: 1490 },
  { at: at(27, 9, 57), user: "ann", agent: "guide", chat: "returns", text: "Can I give a lamp back?", duration: 2050 },
  { at: at(27, 10, 15), user: "ann", agent: "shop", chat: "bedroom", text: "Do you have a reading lamp in oak, for the bedroom?", duration: 4180 },
  { at: at(27, 10, 19), user: "dan", agent: "editor", chat: "fjord", text: "Write the catalogue text of Fjord.", duration: 1730 },
];

/** The turn whose steps are shown, and when each of them begins and ends, in milliseconds. */
export const SHOWN = 7;
export const STEPS = { n1: [0, 4180], n2: [4, 31], n3: [18, 26], n4: [38, 1655], n5: [1660, 1702], n6: [1708, 4149], n7: [4153, 4176] };
/** What models had to think before they said something. */
export const FIRST_TOKENS = { n4: 412, n6: 386 };

/** Fills a server with it; the answer is when each turn began by the server's clock, with its id. */
export async function fill(api) {
  const call = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${api}${path}`, { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
    // One turn fails, and is shown as failed.
    if (!answer.ok && answer.status !== 502) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  await call("POST", "/kb/collections", { id: "suppliers", name: "Suppliers", description: "Who makes what, and at which price" });
  const oak = "# Oak\n\nThe oak comes from a sawmill nearby, dried for two years.";
  await call("POST", "/kb/collections/suppliers/documents/text", { name: "oak.md", text: oak });
  await call("PUT", "/memory/user/keys/language", { value: "en" });
  await call("PUT", "/memory/user/keys/address", { value: { street: "Mill Lane 4", city: "Norwich" } });
  await call("PUT", "/memory/user/keys/cart", { value: { items: ["L-107"], total: 129 }, ttl: 3600 });
  const begun = [];
  for (const turn of TURNS) {
    const { token } = await (await call("POST", "/session/act-as", { user_id: turn.user, constraints: {} })).json();
    const headers = turn.user === "ann" ? {} : { "x-ambit-act-as": token };
    const began = Date.now();
    const body = { model: turn.agent, chat_id: turn.chat, stream: false, messages: [{ role: "user", content: turn.text }] };
    const answer = await call("POST", "/chat/completions", body, headers);
    const id = answer.headers.get("x-ambit-request");
    await answer.text();
    begun.push({ began, id });
  }
  return begun;
}

const DAY = 86_400_000;
const SHARES = { shop: [14, 9], guide: [8, 5], editor: [4, 0], bookkeeper: [3, 0] };

/** The usage of thirty days, as the route tells it: a server that was started just now has none. */
export function usage(query) {
  const items = [];
  for (let ago = 29; ago >= 0; ago -= 1) {
    const date = new Date(NOW - ago * DAY);
    const isWeekend = [0, 6].includes(date.getUTCDay());
    for (const [agent, [weekday, weekend]] of Object.entries(SHARES)) {
      const wave = 1 + 0.35 * Math.sin(ago * 1.7 + agent.length) - ago * 0.012;
      const records = Math.round((isWeekend ? weekend : weekday) * wave);
      if (records > 0) items.push({ values: [date.toISOString().slice(0, 10), agent], ...sums(records, agent.length) });
    }
  }
  if (query.has("group_by")) return { group_by: query.get("group_by"), items };
  const total = items.reduce((all, { values, cost, ...counts }) => {
    for (const [name, count] of Object.entries(counts)) all[name] = (all[name] ?? 0) + count;
    all.cost.USD += cost.USD;
    return all;
  }, { cost: { USD: 0 } });
  return { total };
}

function sums(records, weight) {
  const prompt_tokens = records * (1180 + weight * 37);
  const completion_tokens = records * (164 + weight * 9);
  return {
    records, prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, cached_tokens: Math.round(prompt_tokens * 0.62),
    reasoning_tokens: Math.round(completion_tokens * 0.21), // In whole cents.
    cost: { USD: Math.round((prompt_tokens * 0.4 + completion_tokens * 1.6) / 1000) * 10_000 },
  };
}
