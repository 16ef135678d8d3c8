//! Logs: entries are appended to one table and found by log and sequence.

use super::database_file::{SqliteResult, signed, unsigned};
use super::packed_body::{StoredBody, unpack};
use super::write_connection::{CachedLog, WriteConnection, erased};
use crate::Error;
use crate::address::{ITEMS, LogKey, Space};
use crate::batch::{Head, LogEntry, NewEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::state::rows::ACTIVITY_STEP;
use crate::driver::{Direction, LogPage, LogRange};
use crate::json::Json;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};

pub fn find(
    connection: &Connection,
    space: i64,
    name: &str,
) -> rusqlite::Result<Option<CachedLog>> {
    let sql = "SELECT id, generation, coalesce((SELECT max(seq) FROM entry WHERE log = log.id), 0)
        FROM log WHERE space = ?1 AND name = ?2";
    connection
        .prepare_cached(sql)?
        .query_row((space, name), known)
        .optional()
}

fn known(row: &Row<'_>) -> rusqlite::Result<CachedLog> {
    let head = Head::new(unsigned(row.get(1)?), unsigned(row.get(2)?));
    Ok(CachedLog {
        id: row.get(0)?,
        head,
    })
}

/// Part of a log, read from one snapshot.
pub fn page(connection: &Connection, log: &LogKey, range: LogRange) -> rusqlite::Result<LogPage> {
    if range == LogRange::last(range.limit) && range.limit > 0 {
        return end(connection, log, range.limit);
    }
    let sql = "SELECT l.id, l.generation, coalesce((SELECT max(seq) FROM entry WHERE log = l.id), 0)
        FROM space s JOIN log l ON l.space = s.id AND l.name = ?3 WHERE s.tenant = ?1 AND s.path = ?2";
    let key = (&log.space.tenant, &log.space.path, &log.name);
    let mut statement = connection.prepare_cached(sql)?;
    // Kept to the end: as long as they are read, the entries are of the same snapshot.
    let mut rows = statement.query(key)?;
    let Some(row) = rows.next()? else {
        return Ok(LogPage::default());
    };
    let found = known(row)?;
    let mut page = LogPage {
        head: Some(found.head),
        ..LogPage::default()
    };
    if range.limit == 0 {
        return Ok(page);
    }
    let sql = match range.direction {
        Direction::Forward => {
            "SELECT seq, entry_id, at, body FROM entry WHERE log = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"
        }
        Direction::Backward => {
            "SELECT seq, entry_id, at, body FROM entry WHERE log = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT ?3"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let which = (found.id, signed(range.from), signed(range.limit as u64));
    let entries = statement.query_map(which, |row| {
        Ok(LogEntry {
            seq: unsigned(row.get(0)?),
            id: row.get(1)?,
            at: row.get(2)?,
            body: body(row, 3)?,
        })
    })?;
    page.entries = entries.collect::<rusqlite::Result<_>>()?;
    Ok(page)
}

/// The last entries of a log, and its head, in one statement.
fn end(connection: &Connection, log: &LogKey, limit: usize) -> rusqlite::Result<LogPage> {
    let sql = "SELECT l.generation, e.seq, e.entry_id, e.at, e.body
        FROM space s JOIN log l ON l.space = s.id AND l.name = ?3 LEFT JOIN entry e ON e.log = l.id
        WHERE s.tenant = ?1 AND s.path = ?2 ORDER BY e.seq DESC LIMIT ?4";
    let space = &log.space;
    let which = (&space.tenant, &space.path, &log.name, signed(limit as u64));
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(which)?;
    let mut page = LogPage::default();
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, Option<i64>>(1)?.map(unsigned);
        if page.head.is_none() {
            let generation = unsigned(row.get(0)?);
            page.head = Some(Head::new(generation, seq.unwrap_or_default()));
        }
        if let Some(seq) = seq {
            page.entries.push(LogEntry {
                seq,
                id: row.get(2)?,
                at: row.get(3)?,
                body: body(row, 4)?,
            });
        }
    }
    Ok(page)
}

/// A column of bodies of entries, or of values.
pub fn body(row: &Row<'_>, column: usize) -> rusqlite::Result<Json> {
    let ValueRef::Blob(packed) = row.get_ref(column)? else {
        return text(row, column);
    };
    let unpacked = unpack(packed)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, error))?;
    Ok(Json::stored(unpacked))
}

/// A column of JSON text, copied once.
pub fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Json> {
    let value = row.get_ref(column)?;
    let text = value.as_str().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, value.data_type(), Box::new(error))
    })?;
    Ok(Json::stored(text))
}

/// The names of the logs of a space, in byte order.
pub fn names(connection: &Connection, space: &Space) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT l.name FROM space s JOIN log l ON l.space = s.id WHERE s.tenant = ?1 AND s.path = ?2 ORDER BY l.name";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_map((&space.tenant, &space.path), |row| row.get(0))?
        .collect()
}

/// More entries than this are not erased in one go, which would keep those waiting who write.
const LONG: u64 = 1_000;

struct EntrySlot<'a> {
    log: i64,
    seq: u64,
    at: Millis,
    id: &'a str,
    body: StoredBody<'a>,
}

impl WriteConnection {
    pub(super) fn append(
        &mut self,
        key: &LogKey,
        entries: &[NewEntry],
        now: Millis,
    ) -> SqliteResult<WriteOutcome> {
        let mut log = self.log_or_new(key)?;
        let mut seqs = Vec::with_capacity(entries.len());
        for entry in entries {
            let slot = EntrySlot {
                log: log.id,
                seq: log.head.last + 1,
                at: now,
                id: &entry.id,
                body: StoredBody::of(&key.name, entry.body.as_str()),
            };
            if self.insert(&slot)? {
                log.head.last += 1;
                seqs.push(log.head.last);
            } else {
                let sql = "SELECT seq FROM entry WHERE entry_id = ?1 AND log = ?2";
                seqs.push(unsigned(self.one(sql, (&entry.id, log.id))?));
            }
        }
        self.remember_log(key, log);
        if key.name == ITEMS {
            self.note_activity(&key.space, now)?;
        }
        Ok(WriteOutcome::appended(log.head, seqs))
    }

    /// A log that is appended to: one that is not remembered is taken for new first, which saves the look for it.
    fn log_or_new(&mut self, key: &LogKey) -> SqliteResult<CachedLog> {
        if let Some(log) = self.remembered_log(key) {
            return Ok(log);
        }
        if let Some(log) = self.new_log(key, None)? {
            return Ok(log);
        }
        let lost = || Error::corrupt(key.to_string(), "it is there and cannot be found");
        Ok(self.log(key)?.ok_or_else(lost)?)
    }

    /// True where the entry was stored, false where the log has its id already.
    fn insert(&self, slot: &EntrySlot<'_>) -> rusqlite::Result<bool> {
        let sql = "INSERT INTO entry (log, seq, at, entry_id, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (entry_id, log) DO NOTHING";
        let values = (slot.log, signed(slot.seq), slot.at, slot.id, &slot.body);
        Ok(self.run(sql, values)? > 0)
    }

    /// Makes a log, of this generation or of one of its own; `None` where there is one of its name.
    fn new_log(
        &mut self,
        key: &LogKey,
        generation: Option<u64>,
    ) -> rusqlite::Result<Option<CachedLog>> {
        let space = self.space_or_new(&key.space)?;
        let number = self.coming_number();
        let generation = generation.unwrap_or(number);
        let sql = "INSERT INTO log (space, name, id, generation) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO NOTHING";
        let id = signed(number);
        if self.run(sql, (space, &key.name, id, signed(generation)))? == 0 {
            return Ok(None);
        }
        self.next_number();
        let head = Head::new(generation, 0);
        let log = CachedLog { id, head };
        self.remember_log(key, log);
        Ok(Some(log))
    }

    /// Moves the last activity of the space's index row, if it has one and a second has passed.
    fn note_activity(&mut self, space: &Space, now: Millis) -> rusqlite::Result<()> {
        let remembered = self.space(space)?.and_then(|known| known.activity);
        let activity = match remembered {
            Some(activity) => activity,
            None => self.activity(space)?,
        };
        let moved = match activity {
            Some((ordinal, at)) if now - at >= ACTIVITY_STEP => {
                let sql = "UPDATE identity SET last_activity_at = ?2 WHERE ordinal = ?1";
                self.run(sql, (signed(ordinal), now))?;
                Some((ordinal, now))
            }
            unmoved => unmoved,
        };
        if let Some(known) = self.space(space)? {
            known.activity = Some(moved);
        }
        Ok(())
    }

    fn activity(&self, space: &Space) -> rusqlite::Result<Option<(u64, Millis)>> {
        let sql =
            "SELECT ordinal, last_activity_at FROM identity WHERE tenant = ?1 AND storage_key = ?2";
        self.connection
            .prepare_cached(sql)?
            .query_row((&space.tenant, &space.path), |row| {
                Ok((unsigned(row.get(0)?), row.get(1)?))
            })
            .optional()
    }

    pub(super) fn redact(
        &mut self,
        key: &LogKey,
        bodies: &[(u64, Json)],
    ) -> SqliteResult<WriteOutcome> {
        let Some(log) = self.log(key)? else {
            return Ok(erased(0));
        };
        let mut count = 0;
        for (seq, body) in bodies {
            let sql = "UPDATE entry SET body = ?3 WHERE log = ?1 AND seq = ?2";
            count += self.run(sql, (log.id, signed(*seq), body.as_str()))?;
        }
        Ok(erased(count))
    }

    pub(super) fn drop_log(&mut self, key: &LogKey) -> SqliteResult<WriteOutcome> {
        let Some(log) = self.log(key)? else {
            return Ok(erased(0));
        };
        let space = self.space_or_new(&key.space)?;
        let count = if log.head.last > LONG {
            self.leave_remains(space, &key.name)?;
            log.head.last as usize
        } else {
            let count = self.run("DELETE FROM entry WHERE log = ?1", [log.id])?;
            let sql = "DELETE FROM log WHERE space = ?1 AND name = ?2";
            self.run(sql, (space, &key.name))?;
            count
        };
        if let Some(known) = self.space(&key.space)? {
            known.logs.remove(&key.name);
        }
        self.forget_empty(&key.space, space)?;
        Ok(erased(count))
    }

    pub(super) fn clear(&mut self, space: &Space) -> SqliteResult<WriteOutcome> {
        self.erase(space, Some(ITEMS))
    }

    pub(super) fn remove(&mut self, space: &Space) -> SqliteResult<WriteOutcome> {
        self.erase(space, None)
    }

    /// Erases a space; a log of the name `kept` stays, empty, as a new generation.
    fn erase(&mut self, space: &Space, kept: Option<&str>) -> SqliteResult<WriteOutcome> {
        let Some(id) = self.space(space)?.map(|known| known.id) else {
            self.forget_lease_of(space)?;
            return Ok(erased(0));
        };
        let sql = "SELECT coalesce(sum((SELECT max(seq) FROM entry WHERE log = log.id)), 0) FROM log WHERE space = ?1";
        let entries = unsigned(self.one(sql, [id])?);
        let mut count = if entries > LONG {
            self.leave_space(id, kept)?;
            entries as usize
        } else {
            let sql = "DELETE FROM entry WHERE log IN (SELECT id FROM log WHERE space = ?1)";
            self.run(sql, [id])?
        };
        let sql = "DELETE FROM body WHERE id IN (SELECT body_id FROM value WHERE space = ?1)";
        self.run(sql, [id])?;
        count += self.run("DELETE FROM value WHERE space = ?1", [id])?;
        self.run("DELETE FROM item WHERE space = ?1", [id])?;
        let sql = "DELETE FROM log WHERE space = ?1 AND name IS NOT ?2";
        self.run(sql, (id, kept))?;
        self.forget(space);
        let is_kept =
            kept.is_some() && self.one("SELECT count(*) FROM log WHERE space = ?1", [id])? > 0;
        if is_kept {
            let generation = signed(self.next_number());
            self.run(
                "UPDATE log SET generation = ?2 WHERE space = ?1",
                (id, generation),
            )?;
        } else {
            self.run("DELETE FROM space WHERE id = ?1", [id])?;
            self.forget_lease_of(space)?;
        }
        Ok(erased(count))
    }

    /// Takes the logs of a space from everybody; one of the name `kept` begins anew.
    fn leave_space(&mut self, id: i64, kept: Option<&str>) -> rusqlite::Result<()> {
        let sql = "SELECT id FROM log WHERE space = ?1 AND name IS ?2";
        let is_kept = self.one(sql, (id, kept)).optional()?.is_some();
        self.leave_all_remains(id)?;
        if is_kept {
            let number = signed(self.next_number());
            let sql = "INSERT INTO log (space, name, id, generation) VALUES (?1, ?2, ?3, 0)";
            self.run(sql, (id, kept, number))?;
        }
        Ok(())
    }

    pub(super) fn mirror_log(
        &mut self,
        key: &LogKey,
        head: Head,
        entries: &[LogEntry],
    ) -> SqliteResult<WriteOutcome> {
        self.skip_numbers_to(head.generation);
        let known = match self.log(key)? {
            Some(log) => Some(log),
            None => self.new_log(key, Some(head.generation))?,
        };
        let mut log = known.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        if log.head.generation != head.generation {
            self.run("DELETE FROM entry WHERE log = ?1", [log.id])?;
            let space = self.space_or_new(&key.space)?;
            let sql = "UPDATE log SET generation = ?3 WHERE space = ?1 AND name = ?2";
            self.run(sql, (space, &key.name, signed(head.generation)))?;
            log.head = Head::new(head.generation, 0);
        }
        for entry in entries {
            let next = log.head.last + 1;
            if entry.seq > next {
                return Err(Error::gap(key.to_string(), next, entry.seq).into());
            }
            if entry.seq < next {
                continue;
            }
            let slot = EntrySlot {
                log: log.id,
                seq: next,
                at: entry.at,
                id: &entry.id,
                body: StoredBody::of(&key.name, entry.body.as_str()),
            };
            self.insert(&slot)?;
            log.head.last = next;
        }
        self.remember_log(key, log);
        Ok(WriteOutcome::Done)
    }
}
