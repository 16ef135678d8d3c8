// Server-sent events out of a byte stream, in pieces of any size.

export interface SseEvent {
  /** The number of the event, or what was the newest before it. */
  id: string | null;
  /** Its name; `message` where it has none. */
  name: string;
  data: string;
}

export class SseParser {
  #rest = "";
  #id: string | null = null;
  #name = "";
  #data: string[] = [];
  readonly #decoder = new TextDecoder();

  /** Gives the events that this piece completes. */
  push(piece: Uint8Array): SseEvent[] {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  #line(line: string): SseEvent[] {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.#id = value;
    else if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    return [];
  }

  #end(): SseEvent[] {
    const [name, data] = [this.#name, this.#data];
    this.#name = "";
    this.#data = [];
    return data.length === 0 ? [] : [{ id: this.#id, name: name || "message", data: data.join("\n") }];
  }
}
