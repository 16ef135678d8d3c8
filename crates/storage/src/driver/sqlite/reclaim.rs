//! Giving space back in steps: entries of long logs that were removed are erased some at a time, then pages that nothing uses
//! are taken from the end of the file. Those who write wait for one step at most.

use super::database_file::{SqliteResult, signed};
use super::write_connection::WriteConnection;
use super::writer::{SqliteWriter, WriterJob};
use crate::Result;
use crate::batch::WriteOutcome;
use rusqlite::OptionalExtension;
use std::time::{Duration, Instant};

/// Entries that one step erases.
const ENTRIES: usize = 250;
/// Pages that one step takes from the file.
const PAGES: i64 = 64;
/// With fewer pages that nothing uses the file is left as it is: what is written next uses them.
const SLACK: i64 = 1_024;
/// The same as a part of all pages: one in so many.
const PART: i64 = 16;
/// The way of giving pages back that is used here.
const INCREMENTAL: i64 = 2;
/// While others write, so long passes between two steps.
const PAUSE: Duration = Duration::from_millis(2);
/// How long what failed is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// What is to be given back.
#[derive(Debug)]
pub struct ReclaimSchedule {
    /// Whether there may be entries of logs that were removed.
    has_remains: bool,
    /// Whether the file has pages that nothing uses and that are not to be kept.
    is_shrinking: bool,
    /// When the last step ended, and whether it failed.
    last: Option<(Instant, bool)>,
}

/// An answer that waits until nothing is left of what was removed.
pub type HeldAnswer = (WriterJob, Result<Vec<WriteOutcome>>);

impl Default for ReclaimSchedule {
    /// A process that was killed may have left something.
    fn default() -> Self {
        Self {
            has_remains: true,
            is_shrinking: false,
            last: None,
        }
    }
}

impl ReclaimSchedule {
    /// Notes that long logs were removed.
    pub fn note_remains(&mut self) {
        self.has_remains = true;
    }

    /// True where entries of removed logs may be left.
    pub fn has_remains(&self) -> bool {
        self.has_remains
    }

    /// True where there is something to do.
    pub fn is_due(&self) -> bool {
        self.has_remains || self.is_shrinking
    }

    /// How long to wait for others before a step.
    pub fn wait(&self) -> Duration {
        match self.last {
            Some((at, true)) => RETRY.saturating_sub(at.elapsed()),
            _ => Duration::ZERO,
        }
    }

    /// True where a step is to be made although others write.
    pub fn is_overdue(&self) -> bool {
        let is_early = |(at, _): (Instant, bool)| at.elapsed() < PAUSE;
        self.is_due() && self.wait().is_zero() && !self.last.is_some_and(is_early)
    }
}

impl SqliteWriter {
    /// Looks whether the file has many pages that nothing uses.
    pub(super) fn plan_to_shrink(&mut self) {
        let count = |sql: &'static str| self.ledger.one(sql, []).unwrap_or(0);
        let free = count("PRAGMA freelist_count");
        let is_much = free > SLACK && free > count("PRAGMA page_count") / PART;
        // Files of older versions cannot give pages back.
        self.reclaim.is_shrinking = is_much && count("PRAGMA auto_vacuum") == INCREMENTAL;
    }

    /// Makes one step, if there is something to do. What fails is told and tried again later.
    pub(super) fn reclaim(&mut self) {
        if !self.reclaim.is_due() {
            return;
        }
        let step = if self.reclaim.has_remains {
            self.erase_some()
        } else {
            self.shrink()
        };
        if let Err(stop) = step {
            self.roll_back();
            let error = self.place.error("erasing what was removed", stop);
            tracing::warn!(error.message = %error, "removed entries are not erased, or their space not given back, yet");
            self.reclaim.last = Some((Instant::now(), true));
            self.answer_held(Some(&error));
        } else {
            self.reclaim.last = Some((Instant::now(), false));
        }
    }

    fn erase_some(&mut self) -> SqliteResult<()> {
        if !self.ledger.has_remains()? {
            self.reclaim.has_remains = false;
            return Ok(());
        }
        self.begin(&[])?;
        self.ledger.erase_remains(ENTRIES)?;
        self.end()?;
        if !self.ledger.has_remains()? {
            self.reclaim.has_remains = false;
            if self.held.is_empty() {
                self.scrub.cut_soon();
            } else {
                self.scrub.note(true, &self.place);
            }
        }
        Ok(())
    }

    fn shrink(&mut self) -> SqliteResult<()> {
        let before = self.ledger.one("PRAGMA freelist_count", [])?;
        self.begin(&[])?;
        self.ledger.cut_pages()?;
        self.end()?;
        let left = self.ledger.one("PRAGMA freelist_count", [])?;
        if left <= SLACK || left >= before {
            self.reclaim.is_shrinking = false;
            if left < before {
                self.scrub.cut_soon();
            }
        }
        Ok(())
    }
}

impl WriteConnection {
    /// Takes a log from everybody: its entries are erased later.
    pub(super) fn leave_remains(&mut self, space: i64, name: &str) -> rusqlite::Result<()> {
        // There is no space 0.
        let sql = "UPDATE log SET space = 0, name = id WHERE space = ?1 AND name = ?2";
        self.run(sql, (space, name))?;
        self.has_left = true;
        Ok(())
    }

    /// The same for all logs of a space.
    pub(super) fn leave_all_remains(&mut self, space: i64) -> rusqlite::Result<()> {
        self.run(
            "UPDATE log SET space = 0, name = id WHERE space = ?1",
            [space],
        )?;
        self.has_left = true;
        Ok(())
    }

    /// True where entries of removed logs are left.
    pub(super) fn has_remains(&self) -> rusqlite::Result<bool> {
        Ok(self.first_remains()?.is_some())
    }

    fn first_remains(&self) -> rusqlite::Result<Option<i64>> {
        self.one("SELECT id FROM log WHERE space = 0 LIMIT 1", [])
            .optional()
    }

    /// Erases at most so many entries of removed logs.
    fn erase_remains(&self, limit: usize) -> rusqlite::Result<()> {
        let mut left = limit;
        while left > 0
            && let Some(log) = self.first_remains()?
        {
            let sql = "DELETE FROM entry WHERE id IN
                (SELECT id FROM entry WHERE log = ?1 ORDER BY seq DESC LIMIT ?2)";
            let erased = self.run(sql, (log, signed(left as u64)))?;
            if erased < left {
                self.run("DELETE FROM log WHERE space = 0 AND id = ?1", [log])?;
            }
            left = left.saturating_sub(erased.max(1));
        }
        Ok(())
    }

    /// Takes pages that nothing uses from the end of the file.
    fn cut_pages(&self) -> rusqlite::Result<()> {
        let sql = format!("PRAGMA incremental_vacuum({PAGES})");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        // It takes one page a step.
        while rows.next()?.is_some() {}
        Ok(())
    }
}
