// Who the console works as, and what that caller is granted.

import { ApiError } from "./api-error";
import { api } from "./api";
import { onUnauthenticated, setActAsToken } from "./credentials";
import { forgetEverything } from "./preferences.svelte";
import type { LoginOptions, Session } from "./wire";

export type SessionState =
  | { is: "loading" }
  | { is: "known"; session: Session }
  | { is: "login"; options: LoginOptions }
  | { is: "error"; error: ApiError };

let state = $state.raw<SessionState>({ is: "loading" });

onUnauthenticated(() => void loadSession());

export function sessionState(): SessionState {
  return state;
}

/** Whether the caller may use an operation, written as in `grants`: `GET /contexts`. */
export function isGranted(operation: string): boolean {
  return state.is === "known" && state.session.grants.includes(operation);
}

/** The origins of pictures, sounds and films that may be shown after a click. */
export function imageOrigins(): readonly string[] {
  return state.is === "known" ? state.session.images : [];
}

export async function loadSession(): Promise<void> {
  try {
    state = { is: "known", session: await api.get<Session>("/session", { allowUnauthenticated: true }) };
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    if (cause.status === 401) setActAsToken(null);
    state = cause.status === 401 ? { is: "login", options: cause.details as LoginOptions } : { is: "error", error: cause };
  }
}

/** Sends what was typed once, and forgets it: the cookie stands for it from then on. */
export async function logIn(secret: string): Promise<void> {
  const headers = { Authorization: `Bearer ${secret}` };
  const session = await api.post<Session>("/session", undefined, { headers, allowUnauthenticated: true });
  state = { is: "known", session };
}

export async function logOut(): Promise<void> {
  const url = state.is === "known" ? state.session.logout_url : null;
  if (state.is === "known" && state.session.mode === "session") await api.delete("/session", { allowUnauthenticated: true });
  forgetEverything();
  if (url) location.assign(url);
  else await loadSession();
}

/** Whom to act as; what is left out is as the caller's. */
export interface AssumedCaller {
  user_id?: string;
  team_id?: string;
  tenant_id?: string;
  roles?: string[];
  scope?: string;
  claims?: Record<string, unknown>;
  constraints?: Record<string, unknown>;
}

export async function actAs(caller: AssumedCaller): Promise<void> {
  const { token } = await api.post<{ token: string }>("/session/act-as", caller);
  setActAsToken(token);
  await loadSession();
}

export async function stopActing(): Promise<void> {
  setActAsToken(null);
  await loadSession();
}
