// @ts-nocheck
import { Fetch, Address } from "./fetch";

function Create(ctx: agent.Context, messages: agent.Message[]): agent.HookCreateResponse | null {
  const last = lastOfUser(messages);
  const url = Address(typeof last?.content === "string" ? last.content : "");
  if (!url) {
    return null;
  }
  const page = Fetch(url);
  return {
    context: { page_error: page.error, requested_url: url },
    messages: [...messages.slice(0, -1), { role: "user", content: `No page at ${url}: ${page.error}` }],
  };
}

function Next(ctx: agent.Context, payload: agent.NextHookPayload): agent.NextHookResponse | null {
  return null;
}

function lastOfUser(messages: agent.Message[]): agent.Message | null {
  return messages.filter((message) => message.role === "user").pop() ?? null;
}
