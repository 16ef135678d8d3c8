// What the routes of access answer.

export interface ApiKey {
  id: string;
  label: string | null;
  user_id: string | null;
  team_id: string | null;
  roles: string[];
  scope: string | null;
  created_at: number;
  created_by: string | null;
  expires_at: number | null;
  last_used_at: number | null;
}

/** What a key is made of; what is left out, it has not. */
export interface KeyWish {
  label?: string;
  user_id?: string;
  team_id?: string;
  roles?: string[];
  scope?: string;
  expires_at?: number;
}

export interface RoleRule {
  name: string;
  scopes: string[];
  restricted: string[];
  default: boolean;
  file: string;
}

export interface ScopeRule {
  name: string;
  endpoints: string[];
  file: string;
}

export interface AliasRule {
  name: string;
  scopes: string[];
}

export interface EndpointRule {
  endpoint: string;
  effect: string;
  file: string;
}

export interface Rules {
  roles: RoleRule[];
  scopes: ScopeRule[];
  aliases: AliasRule[];
  public: EndpointRule[];
  endpoints: EndpointRule[];
  default?: string;
}

export interface Explanation {
  granted: boolean;
  lines: string[];
}
