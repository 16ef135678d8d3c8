// What a request carries besides the cookie, and whom to tell when the server knows the caller no more.

const KEY = "ambit.act-as";

let unauthenticated: () => void = () => {};

/** Sets what happens on a 401: the login page appears. */
export function onUnauthenticated(handler: () => void): void {
  unauthenticated = handler;
}

export function reportUnauthenticated(): void {
  unauthenticated();
}

export function actAsToken(): string | null {
  return sessionStorage.getItem(KEY);
}

export function setActAsToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}

/** The headers of every request to the API. */
export function requestHeaders(): Record<string, string> {
  const token = actAsToken();
  return { "X-Ambit-Console": "1", ...(token === null ? {} : { "X-Ambit-Act-As": token }) };
}
