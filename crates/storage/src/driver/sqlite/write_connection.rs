//! The writing connection, inside a transaction: judges a batch and does its writes.
//! What it finds in the file is remembered (`cache`), so that an append reads nothing.

mod cache;

pub use cache::{CachedLog, CachedSpace, CachedTouch};

use super::database_file::{SqliteError, SqliteResult, signed, unsigned};
use crate::Error;
use crate::address::{Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite, WriteOutcome};
use crate::clock::{Clock, Millis};
use crate::directory::IndexRow;
use crate::driver::state;
use crate::operation::{self, Operation};
use rusqlite::{Connection, FileControl, MAIN_DB, Params};
use std::collections::{HashMap, HashSet};

/// The writing connection and what it remembers of the file.
#[derive(Debug)]
pub struct WriteConnection {
    /// The only connection of this process that writes.
    pub connection: Connection,
    /// The time it sees.
    pub clock: Clock,
    counter: NumberCounter,
    spaces: HashMap<Space, CachedSpace>,
    /// Spaces without a row: those that were emptied here.
    absent: HashSet<Space>,
    /// How many values and logs were remembered since all spaces were forgotten.
    remembered: usize,
    /// As it was when the connection last committed or looked.
    data_version: Option<u32>,
    /// Whether long logs were removed whose entries are erased later.
    pub(super) has_left: bool,
}

/// What takes back the first writes of a batch if a later one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchGuard {
    /// Nothing: hardly any batch is refused there.
    None,
    /// A savepoint, which costs a copy of each page that the batch changes.
    Savepoint,
}

/// Why a batch was not applied.
pub enum BatchFailure {
    /// It, or what it needs, failed; it has changed nothing if it was refused.
    Failed(SqliteError),
    /// It was refused behind writes of its own, which nothing has taken back.
    StoppedMidway(Error),
}

impl From<SqliteError> for BatchFailure {
    fn from(error: SqliteError) -> Self {
        Self::Failed(error)
    }
}

const COUNTER: &str = "SELECT value FROM counter WHERE id = 1";

/// So many integers are taken from the file at once: most commits then leave the page of the counter alone.
const RESERVED: u64 = 1_024;

/// The integers that are given out. What the file says is never behind them; after a crash, or a commit of another process, those
/// that were reserved and not given are passed over.
#[derive(Clone, Copy, Debug, Default)]
struct NumberCounter {
    /// The last one given out; 0 where the file must be asked.
    given: u64,
    /// Up to here this process may give them out: what the file says.
    reserved: u64,
}

impl WriteConnection {
    /// Nothing is remembered yet.
    pub fn new(connection: Connection, clock: Clock) -> Self {
        Self {
            connection,
            clock,
            counter: NumberCounter::default(),
            spaces: HashMap::new(),
            absent: HashSet::new(),
            remembered: 0,
            data_version: None,
            has_left: false,
        }
    }

    /// True where somebody else has committed since the last call, or this process has rewritten the file. Outside of transactions.
    pub fn look(&mut self) -> rusqlite::Result<bool> {
        self.one(COUNTER, [])?;
        Ok(self.refresh())
    }

    /// The same of what was last read or locked. What was remembered is forgotten then.
    fn refresh(&mut self) -> bool {
        let version = self.data_version();
        let has_changed = version.is_none() || version != self.data_version;
        if has_changed {
            self.forget_all();
            self.data_version = version;
        }
        has_changed
    }

    /// The number that each commit changes which this connection has made or come to see.
    fn data_version(&self) -> Option<u32> {
        let mut version = 0;
        let asked = FileControl::DataVersion(&mut version);
        let answer = self.connection.file_control(Some(MAIN_DB), asked);
        answer.is_ok().then_some(version)
    }

    /// Reads the store-wide counter, where it may have moved. Only inside a transaction.
    pub fn begin(&mut self) -> rusqlite::Result<bool> {
        let has_changed = self.refresh();
        if self.counter.given == 0 {
            let value = unsigned(self.one(COUNTER, [])?);
            self.counter = NumberCounter {
                given: value,
                reserved: value,
            };
        }
        Ok(has_changed)
    }

    /// Reserves more numbers, if more were given out than this process had. Only inside a transaction.
    pub fn end(&mut self) -> rusqlite::Result<()> {
        if self.counter.given > self.counter.reserved {
            let reserved = self.counter.given.saturating_add(RESERVED);
            let sql = "UPDATE counter SET value = ?1 WHERE id = 1";
            self.run(sql, [signed(reserved)])?;
            self.counter.reserved = reserved;
        }
        Ok(())
    }

    /// Tells the commit that was just made from those of others.
    pub fn note_commit(&mut self) {
        self.data_version = self.data_version();
    }

    /// True where long logs were removed since the last call.
    pub fn take_remains(&mut self) -> bool {
        std::mem::take(&mut self.has_left)
    }

    /// Forgets what a rolled back transaction had changed.
    pub fn forget_all(&mut self) {
        self.forget_spaces();
        self.counter = NumberCounter::default();
    }

    /// The batch whole, or why not. One that is refused has changed nothing, but where it is stopped midway without a guard: then
    /// the transaction must be rolled back.
    pub fn apply(
        &mut self,
        batch: &Batch,
        guard: BatchGuard,
    ) -> Result<Vec<WriteOutcome>, BatchFailure> {
        let now = self.clock.now();
        for check in &batch.checks {
            self.check(check, now)?;
        }
        let counter = self.counter;
        let may_stop = may_stop_midway(batch);
        let outcomes = match guard {
            BatchGuard::Savepoint if may_stop => self.write_guarded(batch, now),
            _ => self.write_all(batch, now),
        };
        match outcomes {
            Err(SqliteError::Refused(error)) if may_stop && guard == BatchGuard::None => {
                Err(BatchFailure::StoppedMidway(error))
            }
            outcomes => {
                if outcomes.is_err() {
                    self.counter = counter;
                }
                Ok(outcomes?)
            }
        }
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
                let found = self.stored_head(key)?.filter(|row| row.is_live(now));
                let found = found.map(|row| row.version);
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
            BatchCheck::RowId { space, id } => {
                let row = self.row_of(space)?;
                state::expect_row_id(space, id, row.map(|row| row.id))?;
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
