//! What is known of a log in the process that writes it. Nothing here waits.

use super::row::StreamRow;
use super::{StreamEntry, StreamOptions};
use crate::error::Error;
use ambit_storage::batch::BatchWrite;
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
    /// When the last step was begun.
    stepped: Instant,
    /// The number of the next entry.
    next: u64,
    waiting: Vec<PendingEntry>,
    waiting_bytes: usize,
    /// Steps that were given to the store without its word that it has them.
    unconfirmed: VecDeque<StreamRow>,
    /// What is to be written with the next step, numbered in the order in which it came.
    pub staged: Vec<(u64, BatchWrite)>,
    /// The number of the last that was staged.
    pub last_staged: u64,
    has_last: bool,
    appended_bytes: usize,
    /// The newest of the stored entries.
    recent: VecDeque<Arc<str>>,
    recent_last: u64,
    recent_bytes: usize,
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

/// How soon the waiting entries must be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreDeadline {
    Never,
    /// When this long has passed since the last step.
    At(Instant),
    Now,
    /// The log takes no more.
    Over,
}

impl StoreDeadline {
    /// What comes first, for a log that stores another one's steps too. What is over here is not stored from here.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over, _) => Self::Over,
            (Self::Now, _) | (_, Self::Now) => Self::Now,
            (Self::At(own), Self::At(other)) => Self::At(own.min(other)),
            (Self::Never, Self::At(time)) | (Self::At(time), _) => Self::At(time),
            (Self::Never, _) => Self::Never,
        }
    }
}

impl StreamState {
    /// A log whose first `stored` entries are stored.
    pub fn new(options: StreamOptions, stored: u64) -> Self {
        Self {
            options,
            phase: StreamPhase::Open,
            stepped: Instant::now(),
            next: stored + 1,
            waiting: Vec::new(),
            waiting_bytes: 0,
            unconfirmed: VecDeque::new(),
            staged: Vec::new(),
            last_staged: 0,
            has_last: false,
            appended_bytes: 0,
            recent: VecDeque::new(),
            recent_last: stored,
            recent_bytes: 0,
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
        self.waiting_bytes += more.len();
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

    /// Has this written with the next step.
    pub fn stage(&mut self, write: BatchWrite) {
        self.last_staged += 1;
        self.staged.push((self.last_staged, write));
    }

    /// The log had its last entry when it was taken up.
    pub fn end(&mut self) {
        self.has_last = true;
        self.phase = StreamPhase::Ended;
    }

    fn count(&mut self, bytes: usize) -> u64 {
        self.waiting_bytes += bytes;
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
        let is_empty = self.waiting.is_empty() && self.unconfirmed.is_empty();
        match self.phase {
            StreamPhase::Ended | StreamPhase::Abandoned(_) => StoreDeadline::Over,
            StreamPhase::Open if is_empty || self.has_last => StoreDeadline::Never,
            StreamPhase::Open if self.waiting_bytes >= self.options.bytes => StoreDeadline::Now,
            StreamPhase::Open => StoreDeadline::At(self.stepped + self.options.step),
        }
    }

    /// All that is not stored yet, as rows.
    pub fn take(&mut self) -> Vec<StreamRow> {
        let mut row = StreamRow::default();
        let mut size = 0;
        let first = self.next - self.waiting.len() as u64;
        for (number, waiting) in (first..).zip(self.waiting.drain(..)) {
            let text: Arc<str> = match waiting {
                PendingEntry::Whole(text) => text,
                PendingEntry::Open { text, close } => (text + &close).into(),
            };
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
        if !self.unconfirmed.is_empty() {
            self.stepped = Instant::now();
        }
        self.waiting_bytes = 0;
        self.unconfirmed.iter().cloned().collect()
    }

    /// The same as long as the last entry has not come: that one, and what is before it, is stored on purpose.
    pub fn take_step(&mut self) -> Vec<StreamRow> {
        match self.has_last {
            true => Vec::new(),
            false => self.take(),
        }
    }

    /// The first so many rows of those taken are stored.
    pub fn stored(&mut self, rows: usize) {
        let rows = rows.min(self.unconfirmed.len());
        let stored: Vec<StreamRow> = self.unconfirmed.drain(..rows).collect();
        for row in stored {
            for text in row.entries {
                self.show(text);
            }
            if row.is_last {
                self.phase = StreamPhase::Ended;
            }
        }
    }

    fn show(&mut self, text: Arc<str>) {
        self.recent_bytes += text.len();
        self.recent_last += 1;
        self.recent.push_back(text);
        while self.options.is_persistent && self.recent_bytes > self.options.recent_bytes {
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
