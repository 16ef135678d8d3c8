//! After a removal: no removed byte stays in the file or its WAL, and the WAL stays short.
//!
//! `secure_delete` overwrites what is deleted, but a page that SQLite lays out anew keeps old copies of moved rows in its
//! free space (`rebuildPage`). Only `VACUUM` leaves none, so a file of at most 32 MB is rewritten after a removal.
//! In a larger one such copies may stay until it is next rewritten.

use super::database_file::DatabaseFile;
use super::write_connection::WriteConnection;
use rusqlite::ErrorCode;
use std::time::{Duration, Instant};

/// A WAL file of this size is cut, which the ordinary checkpoint (at 4 MB) does not do.
const LONG_WAL: u64 = 16 << 20;
/// Larger files are not rewritten: that would hold writers up for more than some 300 ms, and fill the WAL.
const REWRITTEN: u64 = 32 << 20;
/// Rewriting that takes no longer than this is never put off.
const SHORT: Duration = Duration::from_millis(20);
/// How long a checkpoint may wait for readers of other processes; writers wait as long.
const WAIT: Duration = Duration::from_millis(15);
/// How often what was put off or held up is tried again.
pub const RETRY: Duration = Duration::from_secs(1);

/// What is to be done about removed bytes and a long WAL.
#[derive(Debug, Default)]
pub struct ScrubSchedule {
    /// Since when something is to be done.
    due: Option<Instant>,
    /// Whether it is done as soon as no writer waits, or with the next second.
    is_urgent: bool,
    /// Whether something was removed since the file was last rewritten.
    has_removed: bool,
    /// When the file was last rewritten, and how long that took.
    last: Option<(Instant, Duration)>,
}

impl ScrubSchedule {
    /// Notes what a commit did.
    pub fn note(&mut self, has_removed: bool, place: &DatabaseFile) {
        self.has_removed |= has_removed;
        if has_removed || place.size("-wal") > LONG_WAL {
            self.cut_soon();
        }
    }

    /// Cuts the WAL, which still has what a sweep has erased. The file is not rewritten: sweeps must be short.
    pub fn cut_soon(&mut self) {
        self.is_urgent = true;
        self.cut_later();
    }

    /// Cuts the WAL once a second: logs that are dropped have served their time, and many are dropped in a second.
    pub fn cut_later(&mut self) {
        self.due.get_or_insert_with(Instant::now);
    }

    /// True where something is to be done.
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// True where its time has come: no writer waits, or it has been put off for long enough.
    pub fn is_time(&self, is_idle: bool) -> bool {
        let is_overdue = |since: Instant| since.elapsed() >= RETRY;
        self.due.is_some_and(is_overdue) || (is_idle && self.is_urgent)
    }

    /// Does it, unless there is nothing to do; what does not succeed is tried again later.
    pub fn run(&mut self, ledger: &WriteConnection, place: &DatabaseFile) {
        if self.due.is_none() {
            return;
        }
        let waiting = ledger.connection.busy_timeout(WAIT.min(place.busy));
        let done = waiting.and_then(|()| self.rewrite_and_cut(ledger, place));
        let restored = ledger.connection.busy_timeout(place.busy);
        self.is_urgent = false;
        self.due = match done.and_then(|done| restored.map(|()| done)) {
            Ok(true) => None,
            Ok(false) => Some(Instant::now()),
            Err(error) => {
                report(place, error);
                Some(Instant::now())
            }
        };
    }

    /// Does what was put off, because nobody will later.
    pub fn finish(&mut self, ledger: &WriteConnection, place: &DatabaseFile) {
        self.last = None;
        self.run(ledger, place);
    }

    /// True where nothing is left to be done.
    fn rewrite_and_cut(
        &mut self,
        ledger: &WriteConnection,
        place: &DatabaseFile,
    ) -> rusqlite::Result<bool> {
        let is_put_off = self.has_removed && !self.rewrite(ledger, place)?;
        let held_up = ledger.one("PRAGMA wal_checkpoint(TRUNCATE)", [])?;
        Ok(held_up == 0 && !is_put_off)
    }

    /// Rewrites the file; false where that must wait, so that many removals do not spend all time on it.
    fn rewrite(
        &mut self,
        ledger: &WriteConnection,
        place: &DatabaseFile,
    ) -> rusqlite::Result<bool> {
        let is_early = |(at, took): (Instant, Duration)| took > SHORT && at.elapsed() < took * 2;
        if self.last.is_some_and(is_early) {
            return Ok(false);
        }
        if place.size("") <= REWRITTEN {
            let begun = Instant::now();
            // Files of older versions become such that they can be made smaller.
            let connection = &ledger.connection;
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            ledger.run("VACUUM", [])?;
            self.last = Some((begun, begun.elapsed()));
        }
        self.has_removed = false;
        Ok(true)
    }
}

fn report(place: &DatabaseFile, error: rusqlite::Error) {
    // A lock held by others is no failure: it is tried again.
    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) {
        return;
    }
    let error = place.failed("overwriting removed bytes", error);
    tracing::warn!(error.message = %error, "removed bytes are not overwritten yet");
}
