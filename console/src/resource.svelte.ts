// Something read from the server, with the state that `Part` shows. Call these while a component is set up.

import { ApiError } from "./api-error";
import type { Page } from "./wire";

export type PartState = "loading" | "empty" | "ready" | "error" | "denied" | "gone";

/** What `Part` needs to know. */
export interface Loaded {
  readonly state: PartState;
  readonly error: ApiError | null;
  /** Reads again; what is shown stays until the answer is here. */
  refresh(): Promise<void>;
}

type Read<T> = (signal: AbortSignal) => Promise<T>;

export class Resource<T> implements Loaded {
  state = $state<PartState>("loading");
  data = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  readonly #read: Read<T>;
  readonly #isEmpty: (data: T) => boolean;
  #running = new AbortController();

  constructor(read: Read<T>, isEmpty: (data: T) => boolean) {
    this.#read = read;
    this.#isEmpty = isEmpty;
  }

  async refresh(): Promise<void> {
    this.#running.abort();
    const running = new AbortController();
    this.#running = running;
    try {
      const data = await this.#read(running.signal);
      if (!running.signal.aborted) this.set(data);
    } catch (cause) {
      if (!running.signal.aborted) this.fail(cause);
    }
  }

  set(data: T): void {
    this.data = data;
    this.error = null;
    this.state = this.#isEmpty(data) ? "empty" : "ready";
  }

  fail(cause: unknown): void {
    this.error = cause instanceof ApiError ? cause : new ApiError(0, "internal", String(cause));
    this.state = stateOf(this.error);
  }

  stop(): void {
    this.#running.abort();
  }
}

/** Reads now, and again whenever something changes that `read` uses before it waits. */
export function resource<T>(read: Read<T>, isEmpty: (data: T) => boolean = () => false): Resource<T> {
  const made = new Resource(read, isEmpty);
  $effect(() => {
    made.state = "loading";
    void made.refresh();
    return () => made.stop();
  });
  return made;
}

const PAGE = 50;
type ReadPage<T> = (page: { cursor?: string; limit: number }, signal: AbortSignal) => Promise<Page<T>>;

/** A list that is read page by page as one scrolls. */
export class Pages<T> extends Resource<Page<T>> {
  isLoadingMore = $state(false);
  /** Something has changed beyond the first page: reading again would lose the place, so the reader is asked. */
  isStale = $state(false);
  readonly #readPage: ReadPage<T>;

  constructor(readPage: ReadPage<T>) {
    super(
      (signal) => readPage({ limit: PAGE }, signal),
      (page) => page.items.length === 0,
    );
    this.#readPage = readPage;
  }

  get items(): T[] {
    return this.data?.items ?? [];
  }

  override refresh(): Promise<void> {
    this.isStale = false;
    return super.refresh();
  }

  /** Reads again after a change, unless further pages are shown: then it only says that there is something new. */
  async noticeChange(): Promise<void> {
    if (this.items.length > PAGE) this.isStale = true;
    else await this.refresh();
  }

  async more(): Promise<void> {
    const seen = this.data;
    if (!seen?.next || this.isLoadingMore) return;
    this.isLoadingMore = true;
    try {
      const page = await this.#readPage({ cursor: seen.next, limit: PAGE }, new AbortController().signal);
      // The filters may have changed meanwhile.
      if (this.data === seen) this.set({ items: [...seen.items, ...page.items], next: page.next });
    } catch (cause) {
      if (this.data === seen) this.fail(cause);
    } finally {
      this.isLoadingMore = false;
    }
  }
}

/** As `resource`, page by page. */
export function pages<T>(read: ReadPage<T>): Pages<T> {
  const made = new Pages(read);
  $effect(() => {
    made.state = "loading";
    void made.refresh();
    return () => made.stop();
  });
  return made;
}

function stateOf(error: ApiError): PartState {
  if (error.status === 403) return "denied";
  return error.status === 404 || error.status === 410 ? "gone" : "error";
}
