import { generateId } from "ai";
import { createRoot } from "react-dom/client";
import { reason, storedMessages } from "./ambit";
import { Chat } from "./Chat";
import "./style.css";

// The address names a chat from its first message on, so that a reload finds it again.
const named = location.hash.slice(1);
addEventListener("hashchange", () => location.reload());

const root = createRoot(document.querySelector("main")!);
try {
  const stored = named ? await storedMessages(named) : [];
  root.render(<Chat id={named || generateId()} stored={stored} />);
} catch (error) {
  root.render(<p role="alert">{reason(error as Error)}</p>);
}
