//! What is remembered of the file, so that a write need not look: spaces, the heads of their logs, small values, touches.

use super::WriteConnection;
use crate::address::{DEFAULT_TENANT, LogKey, Space, ValueKey};
use crate::batch::{BatchWrite, Head, MirrorWrite};
use crate::clock::Millis;
use crate::directory::TrackRequest;
use crate::driver::sqlite::log;
use crate::driver::sqlite::value::ValueRow;
use crate::driver::state;
use rusqlite::OptionalExtension;
use std::collections::HashMap;

/// More spaces than this are not remembered, nor more values and logs; all are forgotten at once and read again when needed.
const REMEMBERED: usize = 16_384;
/// Values whose text is longer are not remembered.
const SMALL: usize = 512;

#[derive(Debug)]
pub struct CachedSpace {
    /// Its row.
    pub id: i64,
    /// Its logs, as far as they were used.
    pub logs: HashMap<String, CachedLog>,
    /// Its small values, as far as they were used; `None` for one that is not there. Lists are not among them.
    pub values: HashMap<String, Option<ValueRow>>,
    /// The index row of the space and its last activity; the outer `None` says that it was not looked up.
    pub activity: Option<Option<(u64, Millis)>>,
    /// The last touch of that row.
    pub touch: Option<CachedTouch>,
}

/// What is remembered of an index row that was touched, so that the next writes of its agent need not read it.
#[derive(Debug)]
pub struct CachedTouch {
    pub id: String,
    pub placement: Vec<String>,
    pub agent: String,
    pub at: Millis,
}

impl CachedSpace {
    /// True where it is known to hold something.
    fn has_any(&self) -> bool {
        !self.logs.is_empty() || self.values.values().any(Option::is_some)
    }
}

impl CachedTouch {
    /// True where this request would change nothing.
    pub fn covers(&self, track: &TrackRequest, now: Millis) -> bool {
        let is_fresh = now - self.at < state::rows::ACTIVITY_STEP;
        is_fresh && self.agent == track.agent && self.placement == track.placement
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CachedLog {
    /// Its row.
    pub id: i64,
    pub head: Head,
}

impl WriteConnection {
    pub fn forget_spaces(&mut self) {
        self.spaces.clear();
        self.absent.clear();
        self.remembered = 0;
    }

    /// What is known of a space, if it has anything.
    pub fn space(&mut self, space: &Space) -> rusqlite::Result<Option<&mut CachedSpace>> {
        if self.absent.contains(space) {
            return Ok(None);
        }
        if !self.spaces.contains_key(space) {
            let sql = "SELECT id FROM space WHERE tenant = ?1 AND path = ?2";
            let Some(id) = self.one(sql, (&space.tenant, &space.path)).optional()? else {
                return Ok(None);
            };
            self.remember(space, id);
        }
        Ok(self.spaces.get_mut(space))
    }

    /// The row of a space, made if need be.
    pub fn space_or_new(&mut self, space: &Space) -> rusqlite::Result<i64> {
        if let Some(known) = self.spaces.get(space) {
            return Ok(known.id);
        }
        // Those of leases have numbers below 0: `body.sql` says why. There is no space 0.
        let sql = if space.guarded().is_some() {
            "INSERT INTO space (id, tenant, path) SELECT coalesce(min(id), 0) - 1, ?1, ?2 FROM space WHERE id < 0
             ON CONFLICT DO NOTHING"
        } else {
            "INSERT INTO space (id, tenant, path) SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM space WHERE id > 0
             ON CONFLICT DO NOTHING"
        };
        let id = match self.run(sql, (&space.tenant, &space.path))? {
            0 => self.one(
                "SELECT id FROM space WHERE tenant = ?1 AND path = ?2",
                (&space.tenant, &space.path),
            )?,
            _ => self.connection.last_insert_rowid(),
        };
        self.remember(space, id);
        Ok(id)
    }

    pub fn remember(&mut self, space: &Space, id: i64) {
        if self.spaces.len() >= REMEMBERED {
            self.forget_spaces();
        }
        let known = CachedSpace {
            id,
            logs: HashMap::new(),
            values: HashMap::new(),
            activity: None,
            touch: None,
        };
        self.spaces.insert(space.clone(), known);
        self.absent.remove(space);
    }

    pub fn forget(&mut self, space: &Space) {
        self.spaces.remove(space);
        self.absent.remove(space);
    }

    /// The row of its lease may have gone with that of the space.
    fn forget_with_lease(&mut self, space: &Space) {
        self.forget(space);
        self.forget(&space.lease().space);
    }

    pub fn forget_of(&mut self, write: &BatchWrite) {
        match write {
            BatchWrite::Append { log, .. }
            | BatchWrite::Redact { log, .. }
            | BatchWrite::Drop { log } => {
                self.forget_with_lease(&log.space);
            }
            BatchWrite::Apply { key, .. } => self.forget_with_lease(&key.space),
            BatchWrite::Wipe { space, .. }
            | BatchWrite::Clear { space }
            | BatchWrite::Remove { space } => {
                self.forget_with_lease(space);
            }
            BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => self.forget_with_lease(&log.space),
            BatchWrite::Mirror(MirrorWrite::Value { key, .. }) => {
                self.forget_with_lease(&key.space);
            }
            BatchWrite::Track(track) => self.forget_with_lease(&track.space()),
            BatchWrite::Mirror(MirrorWrite::Row(row)) => {
                self.forget_with_lease(&row.space());
            }
            BatchWrite::Untrack { .. } => self.forget_spaces(),
        }
    }

    /// A space without logs and values leaves no row, which would tell its owner's name. That of a lease has one for as long as
    /// the space that is guarded: it tells nothing more, and the next turn takes the lease again.
    pub fn forget_empty(&mut self, space: &Space, id: i64) -> rusqlite::Result<()> {
        if is_installation_wide(space) {
            return Ok(());
        }
        let known = self.spaces.get(space);
        if known.is_some_and(CachedSpace::has_any) {
            return Ok(());
        }
        if let Some(guarded) = space.guarded()
            && self.space(&guarded)?.is_some()
        {
            return Ok(());
        }
        if self.delete_if_empty(space, id)? {
            self.forget_lease_of(space)?;
        }
        Ok(())
    }

    /// The row of a space is gone: that of its lease goes too, if nobody holds it.
    pub fn forget_lease_of(&mut self, space: &Space) -> rusqlite::Result<()> {
        if space.guarded().is_some() {
            return Ok(());
        }
        let lease = space.lease().space;
        if let Some(id) = self.space(&lease)?.map(|known| known.id) {
            self.delete_if_empty(&lease, id)?;
        }
        Ok(())
    }

    fn delete_if_empty(&mut self, space: &Space, id: i64) -> rusqlite::Result<bool> {
        let sql =
            "DELETE FROM space WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM value WHERE space = ?1)
            AND NOT EXISTS (SELECT 1 FROM log WHERE space = ?1)";
        let is_deleted = self.run(sql, [id])? > 0;
        if is_deleted {
            self.forget(space);
            if self.absent.len() < REMEMBERED {
                self.absent.insert(space.clone());
            }
        }
        Ok(is_deleted)
    }

    /// A log that needs no look into the file.
    pub fn remembered_log(&self, log: &LogKey) -> Option<CachedLog> {
        let known = self.spaces.get(&log.space)?;
        known.logs.get(&log.name).copied()
    }

    /// A log, if there is one.
    pub fn log(&mut self, log: &LogKey) -> rusqlite::Result<Option<CachedLog>> {
        let Some(known) = self.space(&log.space)? else {
            return Ok(None);
        };
        if let Some(found) = known.logs.get(&log.name) {
            return Ok(Some(*found));
        }
        let id = known.id;
        let Some(found) = log::find(&self.connection, id, &log.name)? else {
            return Ok(None);
        };
        self.remember_log(log, found);
        Ok(Some(found))
    }

    /// Whether it is known what is stored under this name.
    pub fn is_value_remembered(&self, key: &ValueKey) -> bool {
        let known = self.spaces.get(&key.space);
        known.is_some_and(|known| known.values.contains_key(&key.name))
    }

    /// Remembers what is stored under this name now.
    pub fn remember_value(&mut self, key: &ValueKey, row: Option<&ValueRow>) {
        let is_small = |row: &ValueRow| {
            // Of a body that stands beside the value there may be no more than the beginning.
            let body = row.body.as_ref().filter(|_| row.body_id.is_none());
            body.is_some_and(|body| body.as_str().len() <= SMALL)
        };
        if self.remembered >= REMEMBERED {
            self.forget_spaces();
        }
        let Some(known) = self.spaces.get_mut(&key.space) else {
            return;
        };
        if row.is_none_or(is_small) {
            let before = known.values.insert(key.name.clone(), row.cloned());
            self.remembered += usize::from(before.is_none());
        } else {
            known.values.remove(&key.name);
        }
    }

    pub fn forget_value(&mut self, key: &ValueKey) {
        if let Some(known) = self.spaces.get_mut(&key.space) {
            known.values.remove(&key.name);
        }
    }

    pub fn remember_log(&mut self, log: &LogKey, found: CachedLog) {
        if self.remembered >= REMEMBERED {
            self.forget_spaces();
        }
        if let Some(known) = self.spaces.get_mut(&log.space) {
            let before = known.logs.insert(log.name.clone(), found);
            self.remembered += usize::from(before.is_none());
        }
    }
}

/// True for what the whole installation shares, whose path says nothing of anybody.
fn is_installation_wide(space: &Space) -> bool {
    let is_internal = space.path.starts_with("i:") && !space.path.contains('/');
    is_internal && space.tenant == DEFAULT_TENANT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{NewEntry, WriteOutcome};
    use crate::clock::Clock;
    use crate::driver::sqlite::schema::MIGRATIONS;
    use crate::json::Json;
    use rusqlite::Connection;

    /// Each turn has logs of its own, so that a chat has ever more of them.
    #[test]
    fn so_many_logs_are_remembered_and_no_more() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in MIGRATIONS {
            connection.execute_batch(migration).unwrap();
        }
        let mut ledger = WriteConnection::new(connection, Clock::default());
        let space = Space::new(DEFAULT_TENANT, "chat");
        let mut append = |name: &str, id: usize| {
            let entry = NewEntry {
                id: id.to_string(),
                body: Json::stored("1"),
            };
            let done = ledger.append(&space.log(name), &[entry], 0);
            let remembered = ledger.spaces.values().map(|known| known.logs.len());
            assert!(remembered.sum::<usize>() <= REMEMBERED);
            done.ok().unwrap()
        };
        for turn in 0..=REMEMBERED {
            append(&format!("turn/{turn}"), turn);
        }
        let WriteOutcome::Appended { seqs, .. } = append("turn/0", REMEMBERED + 1) else {
            panic!("an append was answered with something else");
        };
        assert_eq!(seqs, [2]);
    }
}
