// Answers of a real server with fixed ids, times and durations in the place of its own, so that a picture is the same another day.

import { FIRST_TOKENS, NOW, SHOWN, STARTED, STEPS, TURNS, usage } from "./shop.mjs";

const ID = /\b01[0-9a-hjkmnp-tv-z]{24}\b/g;
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/** An id of that time, as the server makes them. */
function idOf(time, salt) {
  let id = "";
  for (let rest = time, place = 0; place < 10; place += 1, rest = Math.floor(rest / 32)) id = DIGITS[rest % 32] + id;
  for (let place = 0, state = salt * 7919 + 17; place < 16; place += 1) {
    state = (state * 1103515245 + 12345) % 2147483648;
    id += DIGITS[Math.floor(state / 65536) % 32];
  }
  return id;
}

/** The id of a turn in the pictures. */
export const fixedId = (at) => idOf(TURNS[at].at, at);

const ANY = { duration_ms: 640, cpu_ms: 1.4, latency_ms: 1, first_chunk_ms: 400 };

/** The steps of the calls of the turn that is shown. */
const STEPS_OF_CALLS = ["n4", "n6"];

const timesOf = ({ at, duration }) => ({ started_at: at, ended_at: at + duration, duration_ms: duration, ttft_ms: Math.min(duration, 380 + (duration % 90)) });

function timesOfCall(step) {
  const [start, end] = STEPS[step];
  return { at: TURNS[SHOWN].at + start, duration_ms: end - start, ttft_ms: FIRST_TOKENS[step] };
}

/** Lets the page of a context see fixed answers; `begun` is what `fill` answered. */
export async function fixAnswers(context, begun) {
  const ids = new Map(begun.map(({ id }, at) => [id, fixedId(at)]));
  const numberOf = new Map([...ids.values()].map((id, at) => [id, at]));
  const toFixed = (text) => text.replace(ID, (id) => ids.get(id) ?? (ids.set(id, idOf(STARTED, 1000 + ids.size)), ids.get(id)));
  const toReal = (text) => text.replace(ID, (id) => [...ids].find(([, fixed]) => fixed === id)?.[0] ?? id);
  const timeOf = (time) => {
    const at = begun.findLastIndex(({ began }) => began <= time);
    return at < 0 ? STARTED : TURNS[at].at;
  };
  const isTime = (value) => Number.isInteger(value) && value > 1.6e12 && value < 2.2e12;

  const fix = (value) => {
    if (isTime(value)) return timeOf(value);
    if (Array.isArray(value)) return value.map(fix);
    if (value === null || typeof value !== "object") return value;
    const fixed = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, name in ANY && typeof one === "number" ? ANY[name] : fix(one)]));
    const turn = TURNS[numberOf.get(fixed.request_id)];
    if (turn && "started_at" in fixed) Object.assign(fixed, timesOf(turn), { acted_by: null });
    const step = STEPS_OF_CALLS[/\.call-(\d)$/.exec(fixed.call_id)?.[1]];
    if (step && "duration_ms" in fixed) Object.assign(fixed, timesOfCall(step));
    if ("seen_at" in fixed) fixed.seen_at = NOW;
    if (typeof fixed.expires_at === "number") fixed.expires_at = NOW + 3_480_000;
    if (fixed.kind === "sqlite" && "latency_ms" in fixed) fixed.bytes = 4_218_880;
    if ("version" in fixed && "key" in fixed) fixed.version = 3 + fixed.key.length;
    return fixed;
  };

  /** The steps of the turn that is shown, at their places. */
  const fixStep = (event, state) => {
    const fixed = fix(event);
    const node = fixed.node?.id ?? fixed.id ?? fixed.node_id;
    const [start, end] = STEPS[node] ?? [state.at, state.at];
    state.at = fixed.type === "node_start" || fixed.type === "call" ? start : fixed.type === "log_added" ? start + 2 : end;
    const time = TURNS[SHOWN].at + state.at;
    if (fixed.node) fixed.node.start_at = time;
    if ("at" in fixed) fixed.at = time;
    if (fixed.metadata && node in FIRST_TOKENS) fixed.metadata.ttft_ms = FIRST_TOKENS[node];
    return fixed;
  };

  const fixStream = (text) => {
    const state = { at: 0 };
    return text.replace(/^data: (\{.*\})$/gm, (_, data) => `data: ${JSON.stringify(fixStep(JSON.parse(data), state))}`);
  };

  await context.route(/\/v1\//, async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const path = url.pathname.slice("/v1".length);
    if (path === "/events") return route.continue();
    if (path === "/usage") return route.fulfill({ json: usage(url.searchParams) });
    const answer = await route.fetch({ url: toReal(url.href) });
    const text = toFixed(await answer.text());
    const isJson = answer.headers()["content-type"]?.startsWith("application/json");
    const body = isJson ? JSON.stringify(fix(JSON.parse(text))) : path.endsWith("/events") ? fixStream(text) : text;
    await route.fulfill({ response: answer, body });
  });
}
