-- A log is found by its space and name, and its row is all in one tree: a turn makes three logs and drops one. The number by
-- which entries know it is of the counter, which is never behind those that rows had.
CREATE TABLE log_by_name (space INTEGER NOT NULL, name TEXT NOT NULL, id INTEGER NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (space, name)) WITHOUT ROWID;
INSERT INTO log_by_name (space, name, id, generation) SELECT space, name, id, generation FROM log ORDER BY space, name;
UPDATE counter SET value = max(value, (SELECT coalesce(max(id), 0) FROM log)) WHERE id = 1;
DROP TABLE log;
ALTER TABLE log_by_name RENAME TO log;
