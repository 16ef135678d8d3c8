-- Layout 1. Spaces are found by the SHA-256 of tenant and path (32 bytes whatever their length); both are kept as text
-- beside it for people. Names are bytes: those of values may hold U+0000. Bodies are JSON as text, byte for byte.
-- Plans are made while tables are small and kept while they grow, so no two indexes of a table serve one question:
-- the planner then cannot take the wrong one.

CREATE SEQUENCE counter;
-- So that `last_value` always is a number that was given out.
SELECT nextval('counter');

CREATE TABLE log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space bytea NOT NULL,
  name bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  last bigint NOT NULL,
  UNIQUE (space, name)
) WITH (fillfactor = 70);

CREATE TABLE entry (
  log_id bigint NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  entry_id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (log_id, seq),
  UNIQUE (entry_id, log_id)
);

-- `body` is null for lists, whose items are rows of their own; `epoch` is that of a lease.
CREATE TABLE value (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space bytea NOT NULL,
  name bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  body text,
  length bigint NOT NULL,
  version bigint NOT NULL,
  expires_at bigint,
  epoch bigint,
  UNIQUE (space, name)
) WITH (fillfactor = 80);
CREATE INDEX value_expires_at ON value (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE item (
  list_id bigint NOT NULL,
  pos bigint NOT NULL,
  body text NOT NULL,
  fingerprint bigint NOT NULL,
  PRIMARY KEY (list_id, pos)
);
CREATE INDEX item_alike ON item (hashint8extended(fingerprint, list_id));

-- The key is not `ordinal`: rows copied from another store bring their own.
CREATE TABLE identity (
  row_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ordinal bigint NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  space bytea NOT NULL UNIQUE,
  tenant text COLLATE "C" NOT NULL,
  storage_key text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  agent_name text COLLATE "C" NOT NULL,
  chat_name text COLLATE "C",
  user_id text COLLATE "C",
  group_name text COLLATE "C",
  scope text COLLATE "C",
  created_at bigint NOT NULL,
  last_activity_at bigint NOT NULL,
  placement text[] NOT NULL,
  created_by text COLLATE "C",
  team text COLLATE "C",
  labels text[] NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX identity_ordinal ON identity (tenant, ordinal);
CREATE INDEX identity_place ON identity (ordinal);
CREATE INDEX identity_activity ON identity (tenant, last_activity_at, ordinal);
CREATE INDEX identity_created ON identity (tenant, created_at);
CREATE INDEX identity_scope ON identity (tenant, scope, ordinal);
CREATE INDEX identity_key ON identity (tenant, key);
CREATE INDEX identity_user ON identity (user_id, ordinal);
CREATE INDEX identity_chat ON identity (chat_name, ordinal);
CREATE INDEX identity_group ON identity (group_name, ordinal);
CREATE INDEX identity_creator ON identity (created_by, ordinal) WHERE user_id IS NULL;
CREATE INDEX identity_team ON identity (team, ordinal) WHERE user_id IS NULL;

CREATE TABLE touch (
  row_id bigint NOT NULL REFERENCES identity ON DELETE CASCADE,
  agent text COLLATE "C" NOT NULL,
  base text NOT NULL,
  place bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (row_id, agent)
);
CREATE INDEX touch_agent ON touch (agent, row_id);
