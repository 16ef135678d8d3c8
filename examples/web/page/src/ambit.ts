// Where Ambit is, which tools the page has, and what useChat does not ask of a server by itself.

import { DefaultChatTransport, type UIMessage } from "ai";

/** This page's tools, by name: what a model asks, and what it is told. */
type PageTools = {
  confirm: { input: { question: string }; output: "yes" | "no" };
};

export type ShopMessage = UIMessage<unknown, never, PageTools>;

/** They are declared with each request. */
const TOOLS = [
  {
    type: "function",
    function: {
      name: "confirm",
      description: "Asks the customer to confirm something; the answer is yes or no",
      parameters: {
        type: "object",
        properties: { question: { type: "string" } },
        required: ["question"],
      },
    },
  },
];

const API = "/v1/ai-sdk/chat";
// Version 7 of the package understands more than earlier ones, so that the server is told.
const HEADERS = { "x-ambit-ai-sdk": "7" };

export const transport = new DefaultChatTransport<ShopMessage>({
  api: API,
  headers: HEADERS,
  body: { tools: TOOLS },
});

/** A chat as the server has it, but for an answer that is under way. */
export async function storedMessages(id: string): Promise<ShopMessage[]> {
  const response = await fetch(`${API}/${id}/messages`, { headers: HEADERS });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Ends the answer that is under way. `stop()` of useChat only hangs up, and the answer would go on. */
export async function stopAnswer(id: string) {
  await fetch(`${API}/${id}/stream`, { method: "DELETE" });
}

/** What an error says; the server's are JSON. */
export function reason(error: Error): string {
  try {
    return JSON.parse(error.message).error.message;
  } catch {
    return error.message;
  }
}
