import { useChat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { type FormEvent, useEffect, useState } from "react";
import { reason, type ShopMessage, stopAnswer, storedMessages, transport } from "./ambit";
import { Message } from "./Message";

/** A chat; `stored` is what the server has of it. */
export function Chat({ id, stored }: { id: string; stored: ShopMessage[] }) {
  const { messages, status, error, ...chat } = useChat<ShopMessage>({
    id,
    messages: stored,
    transport,
    // An answer goes on as soon as each of its calls of this page's tools has an output.
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  });
  const [text, setText] = useState("");
  // The message whose place the text is to take.
  const [edited, setEdited] = useState<ShopMessage>();

  const isBusy = status === "submitted" || status === "streaming";
  const last = messages.at(-1);
  const question = messages.findLast((message) => message.role === "user");

  // A list that ends with a question: its answer may be under way.
  useEffect(() => {
    if (stored.at(-1)?.role === "user") chat.resumeStream().then(refresh);
  }, []);

  /** An answer that ended between the list and `resumeStream` is in the list now. */
  async function refresh() {
    const now = await storedMessages(id);
    chat.setMessages((held) => (held.at(-1)?.id === stored.at(-1)?.id ? now : held));
  }

  function edit(message?: ShopMessage) {
    setEdited(message);
    setText(message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "");
  }

  function send(event: FormEvent) {
    event.preventDefault();
    if (isBusy || !text.trim()) return;
    history.replaceState(null, "", `#${id}`);
    chat.sendMessage({ text, messageId: edited?.id });
    edit();
  }

  function answer(toolCallId: string, output: "yes" | "no") {
    chat.addToolOutput({ tool: "confirm", toolCallId, output });
  }

  /** A question that has no answer is sent again, since the server may never have got it. */
  function answerAgain() {
    if (last === question) chat.sendMessage();
    else chat.regenerate();
  }

  return (
    <>
      {messages.map((message) => (
        <Message key={message.id} message={message} answer={!isBusy && message === last ? answer : undefined}>
          {!isBusy && message === question && <button onClick={() => edit(message)}>Edit</button>}
          {!isBusy && message === last && <button onClick={answerAgain}>Answer again</button>}
        </Message>
      ))}
      {error && <p role="alert">{reason(error)}</p>}
      <form onSubmit={send}>
        <input
          aria-label="Message"
          placeholder="How many lamps are there?"
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {edited && (
          <button type="button" onClick={() => edit()}>
            Cancel
          </button>
        )}
        {isBusy ? (
          <button type="button" disabled={status === "submitted"} onClick={() => stopAnswer(id)}>
            Stop
          </button>
        ) : (
          <button>{edited ? "Replace" : "Send"}</button>
        )}
      </form>
    </>
  );
}
