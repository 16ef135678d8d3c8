// A page with a component that docs/clients.md shows, whose lines the test puts in. Prints what its chat is listed with when a person has
// asked for the weather.

import { createElement } from "react";
import { renderToString } from "react-dom/server";
// the imports of the component

const api = "http://127.0.0.1:8080/v1/ai-sdk/chat";
const headers = { authorization: `Bearer ${process.env.AMBIT_KEY}` };
const id = crypto.randomUUID();
let shown;

function Page() {
  // the component
  shown = chat;
}

renderToString(createElement(Page));
await shown.sendMessage({ text: "weather" });
const listed = await fetch(`${api}/${id}/messages`, { headers });
for (const { role, parts } of await listed.json()) {
  const texts = parts.map((part) => part.text ?? part.output).filter((text) => text !== undefined);
  console.log(role, texts.join(" / "));
}
