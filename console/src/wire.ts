// What the server answers and more than one view reads. Types of one view are in its folder.

/** A page of a list with a cursor. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Who a request counts as, in the answer of `GET /v1/session`. */
export interface Session {
  mode: "dev" | "proxy" | "token" | "key" | "session";
  user_id: string | null;
  team_id: string | null;
  tenant_id: string | null;
  client_id: string | null;
  roles: string[];
  scope: string | null;
  constraints: Record<string, unknown> | null;
  acted_by: { user_id: string | null; client_id: string | null } | null;
  expires_at: number | null;
  grants: string[];
  logout_url: string | null;
  /** Origins of pictures that the page may load (`ambit.console.images`). */
  images: string[];
}

/** How one may log in, in the 401 of `GET /v1/session`. */
export interface LoginOptions {
  keys?: boolean;
  tokens?: boolean;
  login_url?: string | null;
}

/** One message of a stream or of a history (wire.md §2). */
export interface Message {
  type: string;
  props: Record<string, unknown>;
  message_id?: string;
  chunk_id?: string;
  block_id?: string;
  thread_id?: string;
  metadata?: Record<string, unknown>;
}

/** One frame of a stream in the format `cui-web`. */
export interface Frame extends Message {
  delta?: boolean;
  delta_path?: string;
  delta_action?: "append" | "replace" | "merge" | "set";
  type_change?: boolean;
}
