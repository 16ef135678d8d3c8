import { beforeAll, expect, test, vi } from "vitest";

let palette: typeof import("../src/palette");

beforeAll(async () => {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
  vi.stubGlobal("navigator", { language: "en", languages: ["en"] });
  palette = await import("../src/palette");
});

const VIEWS = ["chats", "turns", "contexts", "access"].map((name) => ({ name, title: { en: name, "zh-cn": name } }));
const REQUEST = "01m8j5ppgmd8t6mrm7sxadbm0d";
const ROW = "5v4twfd2j4mw4g8mjxwj";

const offered = (query: string, views = VIEWS) =>
  palette.paletteEntries(query, views, [{ assistant_id: "shop.help", name: "Help" }]).map(({ view, id, filters }) => [view, id, filters]);

test("a call's id opens the call in its turn", () => {
  const call = `${REQUEST}.call-12`;
  expect(offered(` ${call} `)).toEqual([["turns", REQUEST, { tab: "calls", call }]]);
  expect(offered(`${REQUEST}.c0`)).toEqual([["turns", REQUEST, {}]]);
  expect(offered(call, VIEWS.filter(({ name }) => name !== "turns"))).toEqual([]);
});

test("other ids are offered wherever they may lead, the likeliest first", () => {
  const others = (id: string) => [["contexts", null, { chat: id }], ["access", null, { tab: "explain", who: id }]];
  const rows = (id: string) => [["chats", id, {}], ["contexts", id, {}]];
  expect(offered(REQUEST)).toEqual([["turns", REQUEST, {}], ...rows(REQUEST), ...others(REQUEST)]);
  expect(offered(ROW)).toEqual([...rows(ROW), ["turns", ROW, {}], ...others(ROW)]);
  expect(offered("chat:long-name")[0]).toEqual(["chats", "chat:long-name", {}]);
});

test("words are views and agents", () => {
  expect(offered("")).toEqual(VIEWS.map(({ name }) => [name, null, {}]));
  expect(offered("help")).toEqual([["agents", "shop.help", {}]]);
  expect(offered("two words that are no id")).toEqual([]);
});
