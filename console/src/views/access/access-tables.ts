// Columns of the tables of access.

import type { PlainColumn } from "../../components/columns";
import { ago, time, timeWithZone } from "../../format";
import { say } from "../../texts";
import { accessTexts as t } from "../../texts/access";
import type { AliasRule, ApiKey, EndpointRule, RoleRule, ScopeRule } from "./access-types";

const words = (all: readonly string[]) => all.join(" ") || "–";

export const KEY_COLUMNS: readonly PlainColumn<ApiKey>[] = [
  { name: "id", title: t.id, text: (key) => key.id },
  { name: "label", title: t.label, text: (key) => key.label ?? "–" },
  { name: "user_id", title: t.user, text: (key) => key.user_id ?? "–" },
  { name: "team_id", title: t.team, text: (key) => key.team_id ?? "–" },
  { name: "roles", title: t.roles, text: (key) => words(key.roles) },
  { name: "scope", title: t.scope, text: (key) => key.scope ?? "–" },
  { name: "created_at", title: t.made, text: (key) => time(key.created_at), hint: (key) => timeWithZone(key.created_at) },
  { name: "created_by", title: t.madeBy, text: (key) => key.created_by ?? "–" },
  { name: "expires_at", title: t.ends, text: (key) => (key.expires_at === null ? say(t.never) : time(key.expires_at)) },
  { name: "last_used_at", title: t.lastUsed, text: (key) => (key.last_used_at === null ? "–" : ago(key.last_used_at)) },
];

export const ROLE_COLUMNS: readonly PlainColumn<RoleRule>[] = [
  { name: "name", title: t.name, text: (role) => role.name },
  { name: "scopes", title: t.grantsColumn, text: (role) => words(role.scopes) },
  { name: "restricted", title: t.takesAway, text: (role) => words(role.restricted) },
  { name: "default", title: t.isDefault, text: (role) => (role.default ? say(t.yes) : "–") },
  { name: "file", title: t.file, text: (role) => role.file },
];

export const SCOPE_COLUMNS: readonly PlainColumn<ScopeRule>[] = [
  { name: "name", title: t.name, text: (scope) => scope.name },
  { name: "endpoints", title: t.endpoints, text: (scope) => scope.endpoints.join(", ") || "–" },
  { name: "file", title: t.file, text: (scope) => scope.file },
];

export const ALIAS_COLUMNS: readonly PlainColumn<AliasRule>[] = [
  { name: "name", title: t.name, text: (alias) => alias.name },
  { name: "scopes", title: t.scopes, text: (alias) => words(alias.scopes) },
];

export const ENDPOINT_COLUMNS: readonly PlainColumn<EndpointRule>[] = [
  { name: "endpoint", title: t.endpoint, text: (rule) => rule.endpoint },
  { name: "effect", title: t.effect, text: (rule) => rule.effect },
  { name: "file", title: t.file, text: (rule) => rule.file },
];
