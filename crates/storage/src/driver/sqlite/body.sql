-- Long bodies of values stand beside them, at the end of a tree of their own: rows of values are of one size then, and one that
-- grows moves no other. Such a value has the first letters of its body in `value`, which say its type. Their column has another
-- name than it had, so that an older program that still runs fails, and does not take them for the whole.
CREATE TABLE body (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
ALTER TABLE value RENAME COLUMN body TO head;
ALTER TABLE value ADD COLUMN body_id INTEGER;

-- Leases have spaces with numbers below 0 from now on. So those that are held stand together at the beginning of `value`, where
-- one that has expired is found without an index. Those of older files are found by it, until their space is gone.
DROP INDEX value_expiry;
CREATE INDEX value_expiry ON value (expires_at) WHERE expires_at IS NOT NULL AND space > 0;
DELETE FROM space WHERE path GLOB 'l:*' AND NOT EXISTS (SELECT 1 FROM value WHERE value.space = space.id)
    AND NOT EXISTS (SELECT 1 FROM log WHERE log.space = space.id);
