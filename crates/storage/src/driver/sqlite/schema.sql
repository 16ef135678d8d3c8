-- Names of spaces, logs and values are arbitrary text and compare as bytes.
CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL);
INSERT INTO counter (id, value) VALUES (1, 0);

CREATE TABLE space (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, path TEXT NOT NULL);
CREATE UNIQUE INDEX space_path ON space (tenant, path);

CREATE TABLE log (id INTEGER PRIMARY KEY, space INTEGER NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL);
CREATE UNIQUE INDEX log_name ON log (space, name);

-- Entries of all logs are appended to the same right-most pages, so that a group commit touches few of them.
CREATE TABLE entry (id INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
    entry_id TEXT NOT NULL, body TEXT NOT NULL);
CREATE UNIQUE INDEX entry_seq ON entry (log, seq);
CREATE UNIQUE INDEX entry_name ON entry (entry_id, log);

-- A list has no body; its items are in `item`, at 0 .. length - 1.
CREATE TABLE value (space INTEGER NOT NULL, name TEXT NOT NULL, body TEXT, length INTEGER NOT NULL,
    version INTEGER NOT NULL, expires_at INTEGER, PRIMARY KEY (space, name)) WITHOUT ROWID;
CREATE INDEX value_expiry ON value (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE item (space INTEGER NOT NULL, name TEXT NOT NULL, pos INTEGER NOT NULL, fingerprint INTEGER NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (space, name, pos)) WITHOUT ROWID;
CREATE INDEX item_fingerprint ON item (space, name, fingerprint);

CREATE TABLE identity (ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL, tenant TEXT NOT NULL, storage_key TEXT NOT NULL,
    key TEXT NOT NULL, agent_name TEXT NOT NULL, chat_name TEXT, user_id TEXT, group_name TEXT, scope TEXT,
    created_at INTEGER NOT NULL, last_activity_at INTEGER NOT NULL, placement TEXT NOT NULL, created_by TEXT, team TEXT,
    labels TEXT NOT NULL, touches TEXT NOT NULL);
CREATE UNIQUE INDEX identity_storage ON identity (tenant, storage_key);
CREATE INDEX identity_id ON identity (id);
CREATE INDEX identity_key ON identity (tenant, key);
CREATE INDEX identity_tenant ON identity (tenant);
CREATE INDEX identity_activity ON identity (tenant, last_activity_at);
CREATE INDEX identity_created ON identity (tenant, created_at);
CREATE INDEX identity_user ON identity (tenant, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX identity_user_activity ON identity (tenant, user_id, last_activity_at) WHERE user_id IS NOT NULL;
CREATE INDEX identity_chat ON identity (tenant, chat_name) WHERE chat_name IS NOT NULL;
CREATE INDEX identity_group ON identity (tenant, group_name) WHERE group_name IS NOT NULL;
CREATE INDEX identity_scope ON identity (tenant, scope) WHERE scope IS NOT NULL;
CREATE INDEX identity_creator ON identity (tenant, created_by) WHERE user_id IS NULL AND created_by IS NOT NULL;
CREATE INDEX identity_team ON identity (tenant, team) WHERE user_id IS NULL AND team IS NOT NULL;

-- Which agents touched a row: the way from an agent to its rows. The touches themselves are in the row.
CREATE TABLE touch (tenant TEXT NOT NULL, agent TEXT NOT NULL, ordinal INTEGER NOT NULL,
    PRIMARY KEY (tenant, agent, ordinal)) WITHOUT ROWID;
