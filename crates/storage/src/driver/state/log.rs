//! Logs held in memory.

use super::{StoreContents, UndoStep};
use crate::address::{ITEMS, LogKey};
use crate::batch::{Head, LogEntry, NewEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::{Direction, LogPage, LogRange};
use crate::json::Json;
use crate::{Error, Result};
use std::collections::HashMap;

/// One log: its entries are 1, 2, 3 … without gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogContents {
    generation: u64,
    entries: Vec<LogEntry>,
    ids: HashMap<String, u64>,
}

impl LogContents {
    pub fn new(generation: u64) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    pub fn of(generation: u64, entries: Vec<LogEntry>) -> Self {
        let ids = entries.iter().map(|entry| (entry.id.clone(), entry.seq));
        Self {
            generation,
            ids: ids.collect(),
            entries,
        }
    }

    pub fn head(&self) -> Head {
        Head::new(self.generation, self.entries.len() as u64)
    }

    /// All entries, ascending.
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    pub fn page(&self, range: LogRange) -> LogPage {
        let entries = match range.direction {
            Direction::Forward => {
                let from = index(range.from.max(1) - 1).min(self.entries.len());
                self.entries[from..]
                    .iter()
                    .take(range.limit)
                    .cloned()
                    .collect()
            }
            Direction::Backward => {
                let end = index(range.from).min(self.entries.len());
                self.entries[..end]
                    .iter()
                    .rev()
                    .take(range.limit)
                    .cloned()
                    .collect()
            }
        };
        LogPage {
            head: Some(self.head()),
            entries,
            stale_possible: false,
        }
    }

    pub(super) fn shorten(&mut self, length: usize) {
        for entry in self.entries.drain(length..) {
            self.ids.remove(&entry.id);
        }
    }

    fn push(&mut self, entry: LogEntry) {
        self.ids.insert(entry.id.clone(), entry.seq);
        self.entries.push(entry);
    }

    fn add(&mut self, entry: &NewEntry, at: Millis) -> u64 {
        if let Some(seq) = self.ids.get(&entry.id) {
            return *seq;
        }
        let seq = self.head().last + 1;
        self.push(LogEntry {
            seq,
            id: entry.id.clone(),
            at,
            body: entry.body.clone(),
        });
        seq
    }
}

impl StoreContents {
    pub(super) fn append(
        &mut self,
        key: &LogKey,
        entries: &[NewEntry],
        now: Millis,
    ) -> (WriteOutcome, UndoStep) {
        let exists = self.log(key).is_some();
        let generation = if exists { 0 } else { self.tick() };
        let log = self.spaces.log_or(key, || LogContents::new(generation));
        let before = log.entries.len();
        let seqs = entries.iter().map(|entry| log.add(entry, now)).collect();
        let outcome = WriteOutcome::appended(log.head(), seqs);
        let activity = if key.name == ITEMS {
            self.rows.active(&key.space, now)
        } else {
            None
        };
        let undo = UndoStep::Append {
            log: key.clone(),
            length: exists.then_some(before),
            activity,
        };
        (outcome, undo)
    }

    pub(super) fn redact(
        &mut self,
        key: &LogKey,
        bodies: Vec<(u64, Json)>,
    ) -> (WriteOutcome, UndoStep) {
        let Some(log) = self.spaces.log_mut(key) else {
            return (WriteOutcome::Erased(0), UndoStep::Nothing);
        };
        let mut before = Vec::new();
        for (seq, body) in bodies {
            let at = seq.checked_sub(1).map(index);
            if let Some(entry) = at.and_then(|at| log.entries.get_mut(at)) {
                before.push((seq, std::mem::replace(&mut entry.body, body)));
            }
        }
        // The same entry may come twice; taken back in turn, it has its first body again.
        before.reverse();
        let outcome = WriteOutcome::Erased(before.len() as u64);
        (outcome, UndoStep::Bodies(key.clone(), before))
    }

    /// Copies `entries` of a source that ends at `head`.
    pub(super) fn mirror_log(
        &mut self,
        key: &LogKey,
        head: Head,
        entries: &[LogEntry],
    ) -> Result<UndoStep> {
        self.clock = self.clock.max(head.generation);
        let known = self.log(key).map(LogContents::head);
        let known = known.filter(|known| known.generation == head.generation);
        let missing = missing(key, known.map_or(0, |known| known.last), entries)?;
        let Some(known) = known else {
            let mut log = LogContents::new(head.generation);
            missing.into_iter().for_each(|entry| log.push(entry));
            return Ok(UndoStep::Log(
                key.clone(),
                self.spaces.put_log(key, Some(log)),
            ));
        };
        if let Some(log) = self.spaces.log_mut(key) {
            missing.into_iter().for_each(|entry| log.push(entry));
        }
        Ok(UndoStep::Append {
            log: key.clone(),
            length: Some(index(known.last)),
            activity: None,
        })
    }
}

/// The entries that a log which ends at `last` does not have; they must follow it without a gap.
fn missing(key: &LogKey, last: u64, entries: &[LogEntry]) -> Result<Vec<LogEntry>> {
    let mut missing = Vec::new();
    for entry in entries {
        let next = last + 1 + missing.len() as u64;
        if entry.seq > next {
            return Err(Error::gap(key.to_string(), next, entry.seq));
        }
        if entry.seq == next {
            missing.push(entry.clone());
        }
    }
    Ok(missing)
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
