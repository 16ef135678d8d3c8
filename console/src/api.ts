// The client of the API. Paths are below the base path, as in `/openapi.json`: `api.get("/contexts", { query })`.

import { ApiError, readError } from "./api-error";
import { setConnectionLost } from "./connection.svelte";
import { reportUnauthenticated, requestHeaders } from "./credentials";
import { pause, READ_RETRIES, reconnectDelay, retryAfter } from "./retry";
import { formatQuery } from "./url";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface RequestOptions {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The one write that is repeated by itself is the start of a turn: under this key the server joins it. */
  idempotencyKey?: string;
  /** A 401 is an answer like any other: for the session itself. */
  allowUnauthenticated?: boolean;
}

const base = document.querySelector<HTMLMetaElement>('meta[name="ambit-base"]')?.content ?? "../v1";

/** Routes that are not below the base path, but beside the console. */
const BESIDE = ["/metrics", "/openapi.json"];

/** The address of a route, as the browser opens it. */
export function address(path: string, query: Query = {}): string {
  const below = BESIDE.includes(path) ? ".." : base;
  return new URL(`${below}${path}${formatQuery(query)}`, document.baseURI).href;
}

/** Sends a request and gives its answer, whatever its body is; refusals are an `ApiError`. */
export async function send(method: Method, path: string, options: RequestOptions = {}): Promise<Response> {
  const mayRepeat = method === "GET" || options.idempotencyKey !== undefined;
  let refusals = 0;
  for (;;) {
    const answer = await reach(method, path, options, mayRepeat);
    if (answer.ok) return answer;
    const isBusy = answer.status === 429 || answer.status === 503;
    if (method === "GET" && isBusy && refusals < READ_RETRIES) {
      refusals += 1;
      await pause(retryAfter(answer.headers.get("retry-after"), Date.now()), options.signal);
      continue;
    }
    if (answer.status === 401 && !options.allowUnauthenticated) reportUnauthenticated();
    throw await readError(answer, `${method} ${path}`);
  }
}

/** Sends until the server is reached, if the request may be repeated. */
async function reach(method: Method, path: string, options: RequestOptions, mayRepeat: boolean): Promise<Response> {
  for (let failures = 0; ; failures += 1) {
    try {
      const answer = await fetch(address(path, options.query), requestInit(method, options));
      setConnectionLost(false);
      return answer;
    } catch (cause) {
      if (options.signal?.aborted) throw cause;
      setConnectionLost(true);
      if (!mayRepeat) throw new ApiError(0, "connection_lost", "the server cannot be reached", null, {}, `${method} ${path}`);
      await pause(reconnectDelay(failures), options.signal);
    }
  }
}

function requestInit(method: Method, options: RequestOptions): RequestInit {
  const headers: Record<string, string> = { ...requestHeaders(), ...options.headers };
  if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
  const init: RequestInit = { method, headers, cache: "no-store" };
  if (options.signal) init.signal = options.signal;
  if (options.body instanceof FormData || options.body instanceof Blob) {
    init.body = options.body;
  } else if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  return init;
}

async function json<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
  const answer = await send(method, path, options);
  const text = await answer.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

export const api = {
  get: <T>(path: string, options?: RequestOptions) => json<T>("GET", path, options),
  post: <T>(path: string, body?: unknown, options?: RequestOptions) => json<T>("POST", path, { ...options, body }),
  put: <T>(path: string, body: unknown, options?: RequestOptions) => json<T>("PUT", path, { ...options, body }),
  delete: (path: string, options?: RequestOptions) => json<null>("DELETE", path, options),
};
