import { UniqueID } from "@scripts/utils";
import { agent, Exception, Process, time } from "@yao/runtime";

/** The hooks of an older Yao. */
function Create(input: agent.Input, options: agent.Options): agent.Create {
  const self = this as agent.This;
  self.Send({ type: "loading" });
  const found = Process("neo.assistant.search", { automated: true }, UniqueID());
  return { input: found.data };
}

function Done(input: agent.Input, output: agent.Output): agent.Done {
  if (!output) {
    throw new Exception("nothing was said", 400);
  }
}

function Retry(last: string, output: agent.Output, err: string): string {
  return `${last}: ${err}`;
}
