//! What is known of a log in the process that writes it. Nothing here waits.

use super::pace::{StepKind, StoreDeadline, StorePace};
use super::row::{StoredStream, StreamRow};
use super::staged::StagedWrites;
use super::{StreamEntry, StreamOptions};
use crate::error::Error;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::time::Instant;

/// A row is not made larger than this, however much is waiting.
const ROW: usize = 1 << 20;
/// A reader is given at most so many entries at once.
const PAGE: usize = 1024;

/// An entry that is not stored yet.
enum PendingEntry {
    Whole(Arc<str>),
    /// A text that may still grow, and what stands behind it.
    Open {
        text: String,
        close: String,
    },
}

impl PendingEntry {
    fn into_text(self) -> Arc<str> {
        match self {
            Self::Whole(text) => text,
            Self::Open { text, close } => (text + &close).into(),
        }
    }
}

/// How far a log is.
#[derive(Clone, Debug)]
pub(super) enum StreamPhase {
    Open,
    /// Its last entry is stored.
    Ended,
    /// It is not written here any more.
    Abandoned(Error),
}

pub(super) struct StreamState {
    pub options: StreamOptions,
    pub phase: StreamPhase,
    pace: StorePace,
    /// The number of the next entry.
    next: u64,
    waiting: Vec<PendingEntry>,
    /// The entries before those that wait and behind those in rows: they are stored in the tail, or on their way there.
    tail: Vec<Arc<str>>,
    /// Whether the store may have a tail.
    has_tail: bool,
    /// Bytes that no row was made of.
    unrowed_bytes: usize,
    /// Rows that were given to the store without its word that it has them.
    unconfirmed: VecDeque<StreamRow>,
    /// What is to be written with the next step.
    pub staged: StagedWrites,
    has_last: bool,
    appended_bytes: usize,
    /// The newest of the stored entries; all those that are in no row are among them.
    recent: VecDeque<Arc<str>>,
    recent_last: u64,
    recent_bytes: usize,
    /// The last entry that is stored in a row.
    last_in_rows: u64,
}

/// What is stored at once.
#[derive(Debug, Default)]
pub(super) struct StreamStep {
    pub rows: Vec<StreamRow>,
    /// All that is in no row yet, as the tail.
    pub tail: Option<StreamRow>,
    /// The tail is removed: the log ends.
    pub removes_tail: bool,
    /// The last entry among it.
    last: u64,
}

/// What a reader finds.
pub(super) enum ReadOutcome {
    Entries(Vec<StreamEntry>),
    /// Entries that are in the store alone.
    Elsewhere,
    NothingYet,
    Over,
    Abandoned(Error),
}

impl StreamStep {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tail.is_none()
    }
}

impl StreamState {
    /// A log whose first `stored` entries are stored.
    pub fn new(options: StreamOptions, stored: u64) -> Self {
        Self {
            options,
            phase: StreamPhase::Open,
            pace: StorePace::new(),
            next: stored + 1,
            waiting: Vec::new(),
            tail: Vec::new(),
            has_tail: false,
            unrowed_bytes: 0,
            unconfirmed: VecDeque::new(),
            staged: StagedWrites::default(),
            has_last: false,
            appended_bytes: 0,
            recent: VecDeque::new(),
            recent_last: stored,
            recent_bytes: 0,
            last_in_rows: stored,
        }
    }

    /// Takes up a log whose rows are known: what was stored behind them, or that it had its last entry.
    pub fn restore(&mut self, stored: &StoredStream) {
        let in_tail = |entry: &&StreamEntry| entry.number > stored.last_in_rows;
        for entry in stored.entries.iter().filter(in_tail) {
            self.count(entry.text.len());
            self.tail.push(entry.text.clone());
            self.show(entry.text.clone());
        }
        self.has_tail = stored.has_tail;
        if stored.is_ended {
            self.has_last = true;
            self.phase = StreamPhase::Ended;
        }
    }

    /// Adds an entry; one behind the last is dropped and gets no number of its own.
    pub fn append(&mut self, text: Arc<str>) -> u64 {
        if self.has_last {
            return self.next - 1;
        }
        let number = self.count(text.len());
        if self.options.is_persistent {
            self.waiting.push(PendingEntry::Whole(text));
        } else {
            self.show(text);
        }
        number
    }

    /// Adds an entry whose text ends with `close` once nothing is added to it.
    pub fn append_open(&mut self, text: String, close: String) -> u64 {
        if !self.options.is_persistent || self.has_last {
            return self.append((text + &close).into());
        }
        let number = self.count(text.len() + close.len());
        self.waiting.push(PendingEntry::Open { text, close });
        number
    }

    /// Adds to a text that is waiting still; false where it is not.
    pub fn extend(&mut self, number: u64, more: &str) -> bool {
        let place = number.checked_sub(self.next - self.waiting.len() as u64);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let Some(PendingEntry::Open { text, .. }) =
            place.and_then(|place| self.waiting.get_mut(place))
        else {
            return false;
        };
        text.push_str(more);
        self.unrowed_bytes += more.len();
        self.appended_bytes += more.len();
        true
    }

    /// Adds the last entry. It waits until somebody stores it on purpose, so that the end is not seen too early.
    pub fn append_last(&mut self, text: Arc<str>) -> u64 {
        if !self.has_last {
            self.count(text.len());
            self.waiting.push(PendingEntry::Whole(text));
            self.has_last = true;
        }
        self.next - 1
    }

    /// What is written with a step of this kind: nothing while the entries before it are held back with the last one.
    pub fn take_staged(&mut self, kind: StepKind) -> StagedWrites {
        match self.holds_back(kind) {
            true => StagedWrites::default(),
            false => self.staged.take(),
        }
    }

    fn holds_back(&self, kind: StepKind) -> bool {
        self.has_last && kind != StepKind::All
    }

    fn count(&mut self, bytes: usize) -> u64 {
        self.unrowed_bytes += bytes;
        self.appended_bytes += bytes;
        self.next += 1;
        self.next - 1
    }

    pub fn is_full(&self) -> bool {
        self.appended_bytes >= self.options.budget
    }

    pub fn last(&self) -> u64 {
        self.recent_last
    }

    pub fn written(&self) -> u64 {
        self.next - 1
    }

    pub fn due(&self) -> StoreDeadline {
        let (pace, options) = (&self.pace, &self.options);
        match self.phase {
            StreamPhase::Ended | StreamPhase::Abandoned(_) => StoreDeadline::Over,
            StreamPhase::Open if self.has_last => StoreDeadline::Never,
            StreamPhase::Open if self.is_behind() && self.unrowed_bytes >= options.bytes => {
                StoreDeadline::Now
            }
            StreamPhase::Open if self.is_behind() => StoreDeadline::At(pace.next_step(options)),
            StreamPhase::Open if self.tail.is_empty() => StoreDeadline::Never,
            StreamPhase::Open => StoreDeadline::At(pace.next_row_of_tail(options)),
        }
    }

    /// Which step is due now, if one is.
    pub fn step_due(&self) -> Option<StepKind> {
        let now = Instant::now();
        let is_due = match self.due() {
            StoreDeadline::Never | StoreDeadline::Over => false,
            StoreDeadline::At(time) => time <= now,
            StoreDeadline::Now => true,
        };
        let is_row = self.unrowed_bytes >= self.options.bytes
            || self.pace.next_row(&self.options) <= now
            || !self.can_use_tail();
        let kind = if is_row {
            StepKind::Row
        } else {
            StepKind::Tail
        };
        is_due.then_some(kind)
    }

    /// Whether anything is not stored.
    fn is_behind(&self) -> bool {
        self.written() > self.recent_last || !self.unconfirmed.is_empty()
    }

    /// The tail joins on to the rows: those that the store may have or not come first. The log itself is made by a row.
    fn can_use_tail(&self) -> bool {
        self.options.is_live && self.unconfirmed.is_empty() && self.last_in_rows > 0
    }

    /// What is to be stored now. The last entry, and what is before it, is stored on purpose alone.
    pub fn take(&mut self, kind: StepKind) -> StreamStep {
        if self.holds_back(kind) {
            return StreamStep::default();
        }
        let kind = match kind {
            StepKind::Tail if !self.can_use_tail() || self.unrowed_bytes >= self.options.bytes => {
                StepKind::Row
            }
            kind => kind,
        };
        self.pace.begin(kind);
        match kind {
            StepKind::Tail => self.take_tail(),
            StepKind::All | StepKind::Row => self.take_rows(),
        }
    }

    fn take_tail(&mut self) -> StreamStep {
        let waiting = self.waiting.drain(..);
        self.tail.extend(waiting.map(PendingEntry::into_text));
        let is_behind = self.written() > self.recent_last;
        self.has_tail |= is_behind;
        let tail = is_behind.then(|| StreamRow {
            first: self.next - self.tail.len() as u64,
            entries: self.tail.clone(),
            is_last: false,
        });
        StreamStep {
            last: self.written(),
            tail,
            ..StreamStep::default()
        }
    }

    fn take_rows(&mut self) -> StreamStep {
        let mut row = StreamRow::default();
        let mut size = 0;
        let first = self.next - (self.tail.len() + self.waiting.len()) as u64;
        let waiting = self.waiting.drain(..).map(PendingEntry::into_text);
        for (number, text) in (first..).zip(self.tail.drain(..).chain(waiting)) {
            if size > 0 && size + text.len() > ROW {
                self.unconfirmed.push_back(std::mem::take(&mut row));
                size = 0;
            }
            if row.entries.is_empty() {
                row.first = number;
            }
            size += text.len() + 1;
            row.entries.push(text);
        }
        if !row.entries.is_empty() {
            row.is_last = self.has_last;
            self.unconfirmed.push_back(row);
        }
        self.unrowed_bytes = 0;
        StreamStep {
            rows: self.unconfirmed.iter().cloned().collect(),
            tail: None,
            removes_tail: self.has_last && self.has_tail,
            last: self.written(),
        }
    }

    /// The step is stored: readers may see it.
    pub fn stored(&mut self, step: &StreamStep) {
        if step.is_empty() {
            return;
        }
        self.pace.end();
        let is_confirmed = |row: &mut StreamRow| row.last() <= step.last;
        while let Some(row) = self.unconfirmed.pop_front_if(is_confirmed) {
            self.last_in_rows = row.last();
            self.show_all(row.first, &row.entries);
            if row.is_last {
                self.phase = StreamPhase::Ended;
            }
        }
        if let Some(tail) = &step.tail {
            self.show_all(tail.first, &tail.entries);
        }
        self.forget_old();
    }

    /// Shows what readers have not seen of these entries.
    fn show_all(&mut self, first: u64, entries: &[Arc<str>]) {
        for (number, text) in (first..).zip(entries) {
            if number > self.recent_last {
                self.show(text.clone());
            }
        }
    }

    fn show(&mut self, text: Arc<str>) {
        self.recent_bytes += text.len();
        self.recent_last += 1;
        self.recent.push_back(text);
    }

    /// Leaves to the store what it has in rows.
    fn forget_old(&mut self) {
        while self.options.is_persistent
            && self.recent_bytes > self.options.recent_bytes
            && self.recent_last - (self.recent.len() as u64) < self.last_in_rows
        {
            let Some(oldest) = self.recent.pop_front() else {
                return;
            };
            self.recent_bytes -= oldest.len();
        }
    }

    /// What follows this number.
    pub fn after(&self, number: u64) -> ReadOutcome {
        if number >= self.recent_last {
            return match &self.phase {
                StreamPhase::Open => ReadOutcome::NothingYet,
                StreamPhase::Abandoned(error) => ReadOutcome::Abandoned(error.clone()),
                StreamPhase::Ended => ReadOutcome::Over,
            };
        }
        let before = self.recent_last - self.recent.len() as u64;
        let Some(skipped) = number.checked_sub(before) else {
            return ReadOutcome::Elsewhere;
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let numbered = (number + 1..).zip(self.recent.iter().skip(skipped));
        let entries = numbered.take(PAGE).map(|(number, text)| StreamEntry {
            number,
            text: text.clone(),
        });
        ReadOutcome::Entries(entries.collect())
    }
}
