-- How many index rows of each scope a person has, and how many there are in all: to count them would take the longer, the more
-- there are. A person is `=` and their id, all together are `*`. Rows that nobody has any more are not kept.
CREATE TABLE tally (tenant TEXT NOT NULL, person TEXT NOT NULL, scope TEXT NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (tenant, person, scope)) WITHOUT ROWID;

INSERT INTO tally (tenant, person, scope, rows)
    SELECT tenant, '*', scope, count(*) FROM identity WHERE scope IS NOT NULL GROUP BY tenant, scope;
INSERT INTO tally (tenant, person, scope, rows)
    SELECT tenant, '=' || user_id, scope, count(*) FROM identity WHERE scope IS NOT NULL AND user_id IS NOT NULL
    GROUP BY tenant, user_id, scope;

CREATE TRIGGER identity_made AFTER INSERT ON identity WHEN new.scope IS NOT NULL BEGIN
    INSERT INTO tally (tenant, person, scope, rows) VALUES (new.tenant, '*', new.scope, 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1;
    INSERT INTO tally (tenant, person, scope, rows) SELECT new.tenant, '=' || new.user_id, new.scope, 1
        WHERE new.user_id IS NOT NULL
        ON CONFLICT DO UPDATE SET rows = rows + 1;
END;

CREATE TRIGGER identity_gone AFTER DELETE ON identity WHEN old.scope IS NOT NULL BEGIN
    UPDATE tally SET rows = rows - 1
        WHERE tenant = old.tenant AND person IN ('*', '=' || old.user_id) AND scope = old.scope;
    DELETE FROM tally
        WHERE tenant = old.tenant AND person IN ('*', '=' || old.user_id) AND scope = old.scope AND rows <= 0;
END;
