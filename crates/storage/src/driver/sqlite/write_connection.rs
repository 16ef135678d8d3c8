//! The writing connection, inside a transaction: judges a batch and does its writes.
//! The heads of logs are remembered here, so that an append reads nothing.

use super::database_file::{SqliteError, SqliteResult, signed, unsigned};
use super::value::ValueRow;
use crate::Error;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, MirrorWrite, WriteOutcome};
use crate::clock::{Clock, Millis};
use crate::directory::{IndexRow, TrackRequest};
use crate::driver::state;
use crate::operation::{self, Operation};
use rusqlite::{Connection, OptionalExtension, Params};
use std::collections::HashMap;

/// More spaces or values than this are not remembered; all are forgotten at once and read again when needed.
const REMEMBERED: usize = 16_384;
/// Values whose text is longer are not remembered.
const SMALL: usize = 512;

/// The writing connection and what it remembers of the file.
#[derive(Debug)]
pub struct WriteConnection {
    /// The only connection of this process that writes.
    pub connection: Connection,
    /// The time it sees.
    pub clock: Clock,
    counter: NumberCounter,
    spaces: HashMap<Space, CachedSpace>,
    /// How many values were remembered since all spaces were forgotten.
    remembered_values: usize,
    data_version: i64,
}

/// The last integer given out, and the last one that is stored.
#[derive(Clone, Copy, Debug, Default)]
struct NumberCounter {
    given: u64,
    stored: u64,
}

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
    /// Nothing is remembered yet.
    pub fn new(connection: Connection, clock: Clock) -> Self {
        Self {
            connection,
            clock,
            counter: NumberCounter::default(),
            spaces: HashMap::new(),
            remembered_values: 0,
            data_version: -1,
        }
    }

    /// True where another process has committed since the last call. What was remembered is forgotten then.
    pub fn refresh(&mut self) -> rusqlite::Result<bool> {
        let version = self.one("PRAGMA data_version", [])?;
        if version == self.data_version {
            return Ok(false);
        }
        self.forget_all();
        self.data_version = version;
        Ok(true)
    }

    /// Reads the store-wide counter, where it may have moved. Only inside a transaction.
    pub fn begin(&mut self) -> rusqlite::Result<bool> {
        let is_foreign = self.refresh()?;
        if self.counter.given == 0 {
            let value = unsigned(self.one("SELECT value FROM counter WHERE id = 1", [])?);
            self.counter = NumberCounter {
                given: value,
                stored: value,
            };
        }
        Ok(is_foreign)
    }

    /// Stores the counter, if numbers were given out. Only inside a transaction.
    pub fn end(&mut self) -> rusqlite::Result<()> {
        if self.counter.given != self.counter.stored {
            let given = signed(self.counter.given);
            self.run("UPDATE counter SET value = ?1 WHERE id = 1", [given])?;
            self.counter.stored = self.counter.given;
        }
        Ok(())
    }

    /// Forgets what a rolled back transaction had changed.
    pub fn forget_all(&mut self) {
        self.forget_spaces();
        self.counter = NumberCounter::default();
    }

    fn forget_spaces(&mut self) {
        self.spaces.clear();
        self.remembered_values = 0;
    }

    /// The batch whole, or nothing of it and why.
    pub fn apply(&mut self, batch: &Batch) -> SqliteResult<Vec<WriteOutcome>> {
        let now = self.clock.now();
        for check in &batch.checks {
            self.check(check, now)?;
        }
        let counter = self.counter;
        let outcomes = if may_stop_midway(batch) {
            self.write_guarded(batch, now)
        } else {
            self.write_all(batch, now)
        };
        if outcomes.is_err() {
            self.counter = counter;
        }
        outcomes
    }

    /// Takes back what a batch has done if it is refused midway, so that its neighbours in the transaction stay.
    fn write_guarded(&mut self, batch: &Batch, now: Millis) -> SqliteResult<Vec<WriteOutcome>> {
        self.run("SAVEPOINT batch", [])?;
        let outcomes = self.write_all(batch, now);
        if let Err(SqliteError::Refused(_)) = outcomes {
            self.run("ROLLBACK TO batch", [])?;
            batch.writes.iter().for_each(|write| self.forget_of(write));
        }
        if !matches!(outcomes, Err(SqliteError::Broken(_))) {
            self.run("RELEASE batch", [])?;
        }
        outcomes
    }

    fn write_all(&mut self, batch: &Batch, now: Millis) -> SqliteResult<Vec<WriteOutcome>> {
        batch
            .writes
            .iter()
            .map(|write| self.write(write, now))
            .collect()
    }

    fn check(&mut self, check: &BatchCheck, now: Millis) -> SqliteResult<()> {
        match check {
            BatchCheck::Head { log, head } => {
                let found = self.log(log)?.map(|known| known.head);
                state::expect(log, *head, found)?;
            }
            BatchCheck::Version { key, version } => {
                let found = self.live(key, now)?.map(|(_, row)| row.version);
                state::expect(key, *version, found)?;
            }
            BatchCheck::Lease { key, epoch } => {
                let held = match self.live(key, now)? {
                    Some((space, row)) => {
                        operation::epoch_of(&row.whole(&self.connection, space, &key.name)?)
                    }
                    None => None,
                };
                if held != Some(*epoch) {
                    return Err(fenced(key, *epoch).into());
                }
            }
            BatchCheck::Row { space, mark } => {
                let row = self.row_of(space)?;
                state::expect_mark(space, mark.clone(), row.as_ref().map(IndexRow::mark))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, write: &BatchWrite, now: Millis) -> SqliteResult<WriteOutcome> {
        match write {
            BatchWrite::Append { log, entries } => self.append(log, entries, now),
            BatchWrite::Redact { log, bodies } => self.redact(log, bodies),
            BatchWrite::Drop { log } => self.drop_log(log),
            BatchWrite::Apply { key, op, life } => self.operate(key, op, *life, now),
            BatchWrite::Wipe { space, pattern } => self.wipe(space, pattern, now),
            BatchWrite::Clear { space } => self.clear(space),
            BatchWrite::Remove { space } => self.remove(space),
            BatchWrite::Track(track) => self.track(track, now),
            BatchWrite::Untrack { tenant, id } => self.untrack(tenant, id),
            BatchWrite::Mirror(MirrorWrite::Log { log, head, entries }) => {
                self.mirror_log(log, *head, entries)
            }
            BatchWrite::Mirror(MirrorWrite::Value { key, entry }) => {
                self.mirror_value(key, entry.as_ref())
            }
            BatchWrite::Mirror(MirrorWrite::Row(row)) => self.mirror_row(row),
        }
    }

    pub fn next_number(&mut self) -> u64 {
        self.counter.given += 1;
        self.counter.given
    }

    /// The integer that is given out next.
    pub fn coming_number(&self) -> u64 {
        self.counter.given + 1
    }

    /// No integer up to this one is given out any more.
    pub fn skip_numbers_to(&mut self, number: u64) {
        self.counter.given = self.counter.given.max(number);
    }

    /// Executes a statement that is prepared once; the answer is how many rows it changed.
    pub fn run(&self, sql: &'static str, values: impl Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(values)
    }

    /// The one number that a statement gives.
    pub fn one(&self, sql: &'static str, values: impl Params) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached(sql)?
            .query_row(values, |row| row.get(0))
    }

    /// What is known of a space, if it has anything.
    pub fn space(&mut self, space: &Space) -> rusqlite::Result<Option<&mut CachedSpace>> {
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
        let sql = "INSERT INTO space (tenant, path) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
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

    fn remember(&mut self, space: &Space, id: i64) {
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
    }

    pub fn forget(&mut self, space: &Space) {
        self.spaces.remove(space);
    }

    fn forget_of(&mut self, write: &BatchWrite) {
        match write {
            BatchWrite::Append { log, .. }
            | BatchWrite::Redact { log, .. }
            | BatchWrite::Drop { log } => {
                self.forget(&log.space);
            }
            BatchWrite::Apply { key, .. } => self.forget(&key.space),
            BatchWrite::Wipe { space, .. }
            | BatchWrite::Clear { space }
            | BatchWrite::Remove { space } => {
                self.forget(space);
            }
            BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => self.forget(&log.space),
            BatchWrite::Mirror(MirrorWrite::Value { key, .. }) => self.forget(&key.space),
            BatchWrite::Track(track) => self.forget(&track.space()),
            BatchWrite::Mirror(MirrorWrite::Row(row)) => {
                self.forget(&row.space());
            }
            BatchWrite::Untrack { .. } => self.forget_spaces(),
        }
    }

    /// A space without logs and values leaves no row, which would tell its owner's name.
    pub fn forget_empty(&mut self, space: &Space, id: i64) -> rusqlite::Result<()> {
        let known = self.spaces.get(space);
        if known.is_some_and(CachedSpace::has_any) {
            return Ok(());
        }
        let sql =
            "DELETE FROM space WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM value WHERE space = ?1)
            AND NOT EXISTS (SELECT 1 FROM log WHERE space = ?1)";
        if self.run(sql, [id])? > 0 {
            self.forget(space);
        }
        Ok(())
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
        let Some(found) = super::log::find(&self.connection, id, &log.name)? else {
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
            let body = row.body.as_ref();
            body.is_some_and(|body| body.as_str().len() <= SMALL)
        };
        if self.remembered_values >= REMEMBERED {
            self.forget_spaces();
        }
        let Some(known) = self.spaces.get_mut(&key.space) else {
            return;
        };
        if row.is_none_or(is_small) {
            known.values.insert(key.name.clone(), row.cloned());
            self.remembered_values += 1;
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
        if let Some(known) = self.spaces.get_mut(&log.space) {
            known.logs.insert(log.name.clone(), found);
        }
    }
}

/// True where a later write may be refused after an earlier one was done, or one in the middle of its work.
/// A damaged row refuses those that must read it.
fn may_stop_midway(batch: &Batch) -> bool {
    let may_refuse = |write: &BatchWrite| match write {
        BatchWrite::Apply { op, .. } => !matches!(op, Operation::Set(_) | Operation::Del),
        BatchWrite::Track(_) | BatchWrite::Untrack { .. } => true,
        _ => false,
    };
    let is_mirror = |write: &BatchWrite| matches!(write, BatchWrite::Mirror(_));
    batch.writes.iter().any(is_mirror) || batch.writes.iter().skip(1).any(may_refuse)
}

fn fenced(lease: &ValueKey, epoch: u64) -> Error {
    Error::Fenced {
        lease: lease.to_string(),
        epoch,
    }
}

pub fn erased(count: usize) -> WriteOutcome {
    WriteOutcome::Erased(count as u64)
}
