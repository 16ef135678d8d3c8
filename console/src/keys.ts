// The keyboard of the whole page (console.md §1.3). What a list or a dialog does with keys is their own.

export interface KeyCommands {
  palette: () => void;
  help: () => void;
  /** Puts the cursor into the first filter. */
  filter: () => void;
  /** Opens the view with this letter; false if there is none. */
  view: (letter: string) => boolean;
  /** Single letters are commands. */
  letters: () => boolean;
}

/** How long after `g` a letter opens a view. */
const SECOND_KEY = 1500;

/** Listens until the answer is called. */
export function listenForKeys(commands: KeyCommands): () => void {
  let goUntil = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      commands.palette();
      return;
    }
    const isLetter = !event.ctrlKey && !event.metaKey && !event.altKey && commands.letters();
    if (!isLetter || isField(event.target) || document.querySelector("dialog[open]")) return;
    const isSecond = event.timeStamp < goUntil;
    goUntil = 0;
    if (isSecond) {
      if (commands.view(event.key)) event.preventDefault();
    } else if (event.key === "g") {
      goUntil = event.timeStamp + SECOND_KEY;
    } else if (event.key === "/" || event.key === "?") {
      event.preventDefault();
      if (event.key === "/") commands.filter();
      else commands.help();
    }
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

/** Whether this is Esc for what is open: it is none for a field or a dialog. */
export function isLeaving(event: KeyboardEvent): boolean {
  return event.key === "Escape" && !event.defaultPrevented && !isField(event.target) && !document.querySelector("dialog[open]");
}

/** Whether keys pressed here write text. */
export function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
