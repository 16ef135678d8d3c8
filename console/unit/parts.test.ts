import { expect, test } from "vitest";

/** The `data-part`s that the contract of the console names, by view. */
const PARTS = {
  chats: "chat-list conversation composer chat-info",
  turns: "turn-list turn-head timeline node logs spaces memory events call-list manifest left-out body",
  contexts: "context-table context report",
  memory: "key-table value",
  usage: "totals plot table",
  agents: "agent-list overview prompts hooks files tools try-tool try-hook",
  data: "model-list model rows",
  knowledge: "collections documents search",
  access: "me keys rules explain",
  system: "health problems doctor metrics events",
};
const FILES = import.meta.glob<string>("../src/views/**/*.svelte", { query: "?raw", import: "default", eager: true });

test.each(Object.entries(PARTS))("each part of the view %s occurs", (view, names) => {
  const isOfView = (path: string) => path.toLowerCase().startsWith(`../src/views/${view}`);
  const text = Object.entries(FILES).filter(([path]) => isOfView(path)).map(([, text]) => text).join("\n");
  const missing = names.split(" ").filter((name) => !text.includes(`data-part="${name}"`) && !text.includes(`<Part name="${name}"`));
  expect(missing).toEqual([]);
});
