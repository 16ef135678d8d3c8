// Reads what blocks of calls say.

import { api } from "../../api";
import { say } from "../../texts";
import { turnsTexts as t } from "../../texts/turns";
import type { Content } from "./call-types";

/** Why a content is gone, in words. */
export function goneText(reason: string): string {
  const known = { erased: t.goneErased, expired: t.goneExpired, not_kept: t.goneNotKept }[reason];
  return known ? say(known) : reason;
}

export function readBlock(callId: string, n: number, signal: AbortSignal): Promise<Content> {
  return api.get(`/calls/${encodeURIComponent(callId)}/blocks/${n}`, { signal });
}
