// @ts-nocheck
import { Process } from "@yao/runtime";

function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
  switch (messages[0]?.content) {
    case "null":
      return null;
    case "undefined":
      return undefined;
    case "full":
      return {
        messages: [{ role: "system", content: "You are kind." }, { role: "user", content: "Hello!" }],
        audio: { voice: "alloy", format: "mp3" },
        temperature: 0.7,
        max_tokens: 2000,
        max_completion_tokens: 1500,
        metadata: { test: "full" },
      };
    case "process": {
      const roles = Process("models.__yao.role.Get", {});
      return { messages: [{ role: "user", content: `Roles: ${roles.length}` }], metadata: { roles_count: String(roles?.length || 0) } };
    }
    default:
      return {};
  }
}
