// Whose memory is shown, and the routes of it.

import type { Query } from "../../api";
import type { Session } from "../../wire";

export const SPACES = ["user", "team", "chat"] as const;
export type Space = (typeof SPACES)[number];

export interface MemoryPlace {
  space: Space;
  /** A user, a team or a chat; null: the caller's own. */
  owner: string | null;
  /** The index row of exactly one conversation. */
  context: string | null;
}

export function isSpace(text: string): text is Space {
  return (SPACES as readonly string[]).includes(text);
}

/** Reads `<space>[/<owner>]`; null where there is no such space. */
export function parsePlace(id: string, context: string | undefined): MemoryPlace | null {
  const at = id.indexOf("/");
  const space = at < 0 ? id : id.slice(0, at);
  const owner = at < 0 ? "" : id.slice(at + 1);
  if (!isSpace(space)) return null;
  return { space, owner: owner === "" ? null : owner, context: (space === "chat" && context) || null };
}

export function placeId(space: Space, owner: string | null): string {
  return owner === null || owner === "" ? space : `${space}/${owner}`;
}

/** Where the keys are listed; null as long as no chat is chosen. */
export function listPath({ space, owner, context }: MemoryPlace): string | null {
  if (context !== null) return `/memory/${space}/-`;
  if (owner !== null) return `/memory/${space}/${encodeURIComponent(owner)}`;
  return space === "chat" ? null : `/memory/${space}`;
}

export function placeQuery({ context }: MemoryPlace): Query {
  return { context };
}

/** Whether the routes of own or of owned memories are used, as in `grants`. */
export function keyOperation(method: "PUT" | "DELETE", { owner, context }: MemoryPlace): string {
  const whose = owner === null && context === null ? "" : "/:owner";
  return `${method} /memory/:space${whose}/keys/:key`;
}

/** A URL cannot have these as a part of its path. */
export function isAddressable(name: string): boolean {
  return name !== "" && name !== "." && name !== "..";
}

/** Callers without constraints may name any user and team. */
export function isUnconstrained(session: Session): boolean {
  const isNothing = (value: unknown) => !value || (typeof value === "object" && Object.keys(value).length === 0);
  return Object.values(session.constraints ?? {}).every(isNothing);
}
