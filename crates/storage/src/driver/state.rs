//! A store's content held in memory, and what a batch means on it: the reference that every driver must equal.
//! The memory driver keeps one of these; the file driver fills one with what a batch touches.

mod log;
pub mod rows;
mod spaces;
mod value;

pub use log::LogContents;
pub use rows::IndexContents;
pub use spaces::SpaceMap;
pub use value::ValueContents;

use crate::address::{ITEMS, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, MirrorWrite, WriteOutcome};
use crate::clock::Millis;
use crate::directory::{IndexRow, RowMark};
use crate::json::Json;
use crate::operation;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Bound;

/// All a store holds.
#[derive(Clone, Debug, Default)]
pub struct StoreContents {
    /// The last integer given out: generations, versions, epochs and ordinals.
    pub clock: u64,
    /// Logs and values by owner.
    pub spaces: SpaceMap,
    /// The index.
    pub rows: IndexContents,
}

/// What one owner has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceContents {
    /// Logs by name.
    pub logs: BTreeMap<String, LogContents>,
    /// Values by name.
    pub values: BTreeMap<String, ValueContents>,
}

impl SpaceContents {
    /// True where nothing is left of the owner.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.values.is_empty()
    }

    fn size(&self) -> u64 {
        let entries: usize = self.logs.values().map(|log| log.entries().len()).sum();
        (entries + self.values.len()) as u64
    }
}

/// How to take one write back.
enum UndoStep {
    Nothing,
    Log(LogKey, Option<LogContents>),
    Append {
        log: LogKey,
        /// The length before; `None` where the append made the log.
        length: Option<usize>,
        /// The index row that was moved, and its last activity before.
        activity: Option<(u64, Millis)>,
    },
    Value(ValueKey, Option<ValueContents>),
    Values(Vec<(ValueKey, Option<ValueContents>)>),
    Bodies(LogKey, Vec<(u64, Json)>),
    Space(Space, Option<SpaceContents>),
    Row(u64, Option<Box<IndexRow>>),
}

impl StoreContents {
    /// The batch whole, or nothing and the reason.
    pub fn commit(&mut self, batch: &Batch, now: Millis) -> Result<Vec<WriteOutcome>> {
        batch
            .checks
            .iter()
            .try_for_each(|check| self.check(check, now))?;
        let mut outcomes = Vec::with_capacity(batch.writes.len());
        let mut undo = Vec::new();
        let keeps_undo = batch.writes.len() > 1;
        let clock = self.clock;
        for write in &batch.writes {
            match self.write(write, now, keeps_undo) {
                Ok((outcome, step)) => {
                    outcomes.push(outcome);
                    undo.push(step);
                }
                Err(error) => {
                    undo.into_iter().rev().for_each(|step| self.undo(step));
                    self.clock = clock;
                    return Err(error);
                }
            }
        }
        Ok(outcomes)
    }

    /// The head of a log.
    pub fn head(&self, log: &LogKey) -> Option<Head> {
        self.log(log).map(LogContents::head)
    }

    /// A log.
    pub fn log(&self, log: &LogKey) -> Option<&LogContents> {
        self.spaces.log(log)
    }

    /// A value that has not expired.
    pub fn value(&self, key: &ValueKey, now: Millis) -> Option<&ValueContents> {
        let stored = self.spaces.value(key);
        stored.filter(|stored| stored.is_live(now))
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn check(&self, check: &BatchCheck, now: Millis) -> Result<()> {
        match check {
            BatchCheck::Head { log, head } => expect(log, *head, self.head(log)),
            BatchCheck::Version { key, version } => expect(
                key,
                *version,
                self.value(key, now).map(|stored| stored.version),
            ),
            BatchCheck::Lease { key, epoch } => {
                let held = self
                    .value(key, now)
                    .and_then(|stored| operation::epoch_of(&stored.value));
                if held == Some(*epoch) {
                    Ok(())
                } else {
                    Err(Error::Fenced {
                        lease: key.to_string(),
                        epoch: *epoch,
                    })
                }
            }
            BatchCheck::Row { space, mark } => {
                let row = self.rows.by_storage_key(&space.tenant, &space.path);
                expect_mark(space, mark.clone(), row.map(IndexRow::mark))
            }
            BatchCheck::RowId { space, id } => {
                let row = self.rows.by_storage_key(&space.tenant, &space.path);
                expect_row_id(space, id, row.map(|row| row.id.clone()))
            }
        }
    }

    fn write(
        &mut self,
        write: &BatchWrite,
        now: Millis,
        keeps_undo: bool,
    ) -> Result<(WriteOutcome, UndoStep)> {
        match write {
            BatchWrite::Append { log, entries } => Ok(self.append(log, entries, now)),
            BatchWrite::Redact { log, bodies } => Ok(self.redact(log, bodies.clone())),
            BatchWrite::Apply { key, op, life } => {
                let before = if keeps_undo {
                    self.spaces.value(key).cloned()
                } else {
                    None
                };
                let outcome = self.apply(key, op, *life, now)?;
                Ok((outcome, UndoStep::Value(key.clone(), before)))
            }
            BatchWrite::Wipe { space, pattern } => Ok(self.wipe(space, pattern, now)),
            BatchWrite::Drop { log } => {
                let before = self.spaces.put_log(log, None);
                let erased = before.as_ref().map_or(0, |log| log.head().last);
                Ok((
                    WriteOutcome::Erased(erased),
                    UndoStep::Log(log.clone(), before),
                ))
            }
            BatchWrite::Clear { space } => Ok(self.clear(space)),
            BatchWrite::Remove { space } => {
                let before = self.spaces.remove(space);
                let erased = before.as_ref().map_or(0, SpaceContents::size);
                Ok((
                    WriteOutcome::Erased(erased),
                    UndoStep::Space(space.clone(), before),
                ))
            }
            BatchWrite::Track(track) => self.track(track, now),
            BatchWrite::Untrack { tenant, id } => {
                let before = self
                    .rows
                    .by_id(id)
                    .filter(|row| row.tenant == *tenant)
                    .cloned();
                let Some(row) = before else {
                    return Ok((WriteOutcome::Erased(0), UndoStep::Nothing));
                };
                self.rows.remove(row.ordinal);
                Ok((
                    WriteOutcome::Erased(1),
                    UndoStep::Row(row.ordinal, Some(Box::new(row))),
                ))
            }
            BatchWrite::Mirror(mirror) => self.mirror(mirror),
        }
    }

    fn wipe(&mut self, space: &Space, pattern: &Pattern, now: Millis) -> (WriteOutcome, UndoStep) {
        let Some(contents) = self.spaces.get(space) else {
            return (WriteOutcome::Erased(0), UndoStep::Nothing);
        };
        let prefix = pattern.prefix();
        let names = contents
            .values
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(prefix));
        let keys: Vec<ValueKey> = names
            .filter(|name| pattern.matches(name))
            .map(|name| space.key(name.as_str()))
            .collect();
        let take = |key: ValueKey| {
            let before = self.spaces.put(&key, None);
            (key, before)
        };
        let before: Vec<(ValueKey, Option<ValueContents>)> = keys.into_iter().map(take).collect();
        let erased = before
            .iter()
            .filter_map(|(_, stored)| stored.as_ref())
            .filter(|stored| stored.is_live(now))
            .count();
        (
            WriteOutcome::Erased(erased as u64),
            UndoStep::Values(before),
        )
    }

    fn clear(&mut self, space: &Space) -> (WriteOutcome, UndoStep) {
        let Some(before) = self.spaces.remove(space) else {
            return (WriteOutcome::Erased(0), UndoStep::Nothing);
        };
        if before.logs.contains_key(ITEMS) {
            let generation = self.tick();
            let items = space.log(ITEMS);
            self.spaces
                .put_log(&items, Some(LogContents::new(generation)));
        }
        (
            WriteOutcome::Erased(before.size()),
            UndoStep::Space(space.clone(), Some(before)),
        )
    }

    fn mirror(&mut self, mirror: &MirrorWrite) -> Result<(WriteOutcome, UndoStep)> {
        let undo = match mirror {
            MirrorWrite::Log { log, head, entries } => self.mirror_log(log, *head, entries)?,
            MirrorWrite::Value { key, entry } => {
                let stored = entry.clone().map(ValueContents::from);
                self.clock = self
                    .clock
                    .max(stored.as_ref().map_or(0, |stored| stored.version));
                let before = self.spaces.put(key, stored);
                UndoStep::Value(key.clone(), before)
            }
            MirrorWrite::Row(row) => self.mirror_row(row),
        };
        Ok((WriteOutcome::Done, undo))
    }

    fn undo(&mut self, step: UndoStep) {
        match step {
            UndoStep::Nothing => {}
            UndoStep::Log(log, before) => {
                self.spaces.put_log(&log, before);
            }
            UndoStep::Bodies(log, bodies) => {
                self.redact(&log, bodies);
            }
            UndoStep::Append {
                log,
                length,
                activity,
            } => {
                match (length, self.spaces.log_mut(&log)) {
                    (Some(length), Some(kept)) => kept.shorten(length),
                    _ => {
                        self.spaces.put_log(&log, None);
                    }
                }
                if let Some((ordinal, at)) = activity {
                    self.rows.set_active(ordinal, at);
                }
            }
            UndoStep::Value(key, before) => {
                self.spaces.put(&key, before);
            }
            UndoStep::Values(values) => {
                for (key, before) in values {
                    self.spaces.put(&key, before);
                }
            }
            UndoStep::Space(space, before) => {
                self.spaces.insert(space, before.unwrap_or_default());
            }
            UndoStep::Row(ordinal, before) => {
                self.rows.remove(ordinal);
                if let Some(before) = before {
                    self.rows.insert(*before);
                }
            }
        }
    }
}

/// `Conflict` unless the row has the mark that the writer saw.
pub fn expect_mark(space: &Space, expected: Option<RowMark>, found: Option<RowMark>) -> Result<()> {
    expect(&format!("the index row of {space}"), expected, found)
}

/// `Conflict` unless the row is the one with this id.
pub fn expect_row_id(space: &Space, expected: &str, found: Option<String>) -> Result<()> {
    let expected = Some(expected.to_owned());
    expect(&format!("the index row of {space}"), expected, found)
}

/// `Conflict` unless the writer expected what is there.
pub fn expect<T: std::fmt::Debug + PartialEq>(
    what: &impl ToString,
    expected: Option<T>,
    found: Option<T>,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let spell =
        |seen: Option<T>| seen.map_or_else(|| "nothing".to_owned(), |seen| format!("{seen:?}"));
    Err(Error::Conflict {
        what: what.to_string(),
        expected: spell(expected),
        found: spell(found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LogEntry;
    use crate::json::Json;

    #[test]
    fn a_refused_copy_of_a_log_leaves_nothing_of_its_owner() {
        let owner = Space::user_memory("default", "ann");
        let log = owner.log("items");
        let head = Head::new(7, 2);
        let entry = LogEntry {
            seq: 2,
            id: "b".to_owned(),
            at: 0,
            body: Json::stored("1"),
        };
        let entries = vec![entry];
        let copy = BatchWrite::Mirror(MirrorWrite::Log { log, head, entries });
        let mut state = StoreContents::default();
        assert!(state.commit(&Batch::of([copy]), 0).is_err());
        assert_eq!((state.spaces.get(&owner), state.clock), (None, 0));
    }
}
