import type { DynamicToolUIPart } from "ai";
import type { ReactNode } from "react";
import type { ShopMessage } from "./ambit";

type Part = ShopMessage["parts"][number];
type Answer = (toolCallId: string, output: "yes" | "no") => void;

/** A message with its texts and calls of tools. `answer` is missing where nothing can be answered now; children are buttons. */
export function Message(props: { message: ShopMessage; answer?: Answer; children: ReactNode }) {
  const { message, answer, children } = props;
  return (
    <article className={message.role} aria-label={message.role === "user" ? "You" : "Shop"}>
      {message.parts.map((part, at) => (
        <MessagePart key={at} part={part} answer={answer} />
      ))}
      {children}
    </article>
  );
}

function MessagePart({ part, answer }: { part: Part; answer?: Answer }) {
  switch (part.type) {
    case "text":
      return <p>{part.text}</p>;
    case "dynamic-tool":
      return <ServerTool part={part} />;
    case "tool-confirm":
      return <Confirm part={part} answer={answer} />;
    default:
      // Steps, and types of messages that hooks of your own send: `data-<type>`.
      return null;
  }
}

/** A call that the server has made. */
function ServerTool({ part }: { part: DynamicToolUIPart }) {
  return (
    <pre>
      {part.toolName} {JSON.stringify(part.input)}
      {part.state === "output-available" && ` → ${JSON.stringify(part.output)}`}
      {part.state === "output-error" && ` failed: ${part.errorText}`}
    </pre>
  );
}

/** A call that this page answers. */
function Confirm({ part, answer }: { part: Extract<Part, { type: "tool-confirm" }>; answer?: Answer }) {
  return (
    <p>
      {part.input?.question}{" "}
      {part.state === "output-available" && <b>{part.output}</b>}
      {part.state === "input-available" &&
        answer &&
        (["yes", "no"] as const).map((output) => (
          <button key={output} onClick={() => answer(part.toolCallId, output)}>
            {output}
          </button>
        ))}
    </p>
  );
}
