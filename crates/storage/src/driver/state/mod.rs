//! A store's content held in memory, and what a batch means on it: the reference that every driver must equal.
//! The memory driver keeps one of these; the file driver fills one with what a batch touches.

mod log;
pub mod rows;
mod spaces;
mod value;

pub use log::Log;
pub use rows::Rows;
pub use spaces::Spaces;
pub use value::Stored;

use crate::address::{ITEMS, Key, LogKey, Space};
use crate::batch::{Batch, Check, Head, Mirror, Outcome, Write};
use crate::clock::Millis;
use crate::directory::{Mark, Tracked};
use crate::json::Json;
use crate::op;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Bound;

/// All a store holds.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The last integer given out: generations, versions, epochs and ordinals.
    pub clock: u64,
    /// Logs and values by owner.
    pub spaces: Spaces,
    /// The index.
    pub rows: Rows,
}

/// What one owner has.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Contents {
    /// Logs by name.
    pub logs: BTreeMap<String, Log>,
    /// Values by name.
    pub values: BTreeMap<String, Stored>,
}

impl Contents {
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
enum Undo {
    Nothing,
    Log(LogKey, Option<Log>),
    Append {
        log: LogKey,
        /// The length before; `None` where the append made the log.
        length: Option<usize>,
        /// The index row that was moved, and its last activity before.
        activity: Option<(u64, Millis)>,
    },
    Value(Key, Option<Stored>),
    Values(Vec<(Key, Option<Stored>)>),
    Bodies(LogKey, Vec<(u64, Json)>),
    Space(Space, Option<Contents>),
    Row(u64, Option<Box<Tracked>>),
}

impl State {
    /// The batch whole, or nothing and the reason.
    pub fn commit(&mut self, batch: &Batch, now: Millis) -> Result<Vec<Outcome>> {
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
        self.log(log).map(Log::head)
    }

    /// A log.
    pub fn log(&self, log: &LogKey) -> Option<&Log> {
        self.spaces.log(log)
    }

    /// A value that has not expired.
    pub fn value(&self, key: &Key, now: Millis) -> Option<&Stored> {
        let stored = self.spaces.value(key);
        stored.filter(|stored| stored.is_live(now))
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn check(&self, check: &Check, now: Millis) -> Result<()> {
        match check {
            Check::Head { log, head } => expect(log, *head, self.head(log)),
            Check::Version { key, version } => expect(
                key,
                *version,
                self.value(key, now).map(|stored| stored.version),
            ),
            Check::Lease { key, epoch } => {
                let held = self
                    .value(key, now)
                    .and_then(|stored| op::epoch_of(&stored.value));
                if held == Some(*epoch) {
                    Ok(())
                } else {
                    Err(Error::Fenced {
                        lease: key.to_string(),
                        epoch: *epoch,
                    })
                }
            }
            Check::Row { space, mark } => {
                let row = self.rows.by_storage_key(&space.tenant, &space.path);
                expect_mark(space, mark.clone(), row.map(Tracked::mark))
            }
        }
    }

    fn write(&mut self, write: &Write, now: Millis, keeps_undo: bool) -> Result<(Outcome, Undo)> {
        match write {
            Write::Append { log, entries } => Ok(self.append(log, entries, now)),
            Write::Redact { log, bodies } => Ok(self.redact(log, bodies.clone())),
            Write::Apply { key, op, life } => {
                let before = if keeps_undo {
                    self.spaces.value(key).cloned()
                } else {
                    None
                };
                let outcome = self.apply(key, op, *life, now)?;
                Ok((outcome, Undo::Value(key.clone(), before)))
            }
            Write::Wipe { space, pattern } => Ok(self.wipe(space, pattern, now)),
            Write::Drop { log } => {
                let before = self.spaces.put_log(log, None);
                let erased = before.as_ref().map_or(0, |log| log.head().last);
                Ok((Outcome::Erased(erased), Undo::Log(log.clone(), before)))
            }
            Write::Clear { space } => Ok(self.clear(space)),
            Write::Remove { space } => {
                let before = self.spaces.remove(space);
                let erased = before.as_ref().map_or(0, Contents::size);
                Ok((Outcome::Erased(erased), Undo::Space(space.clone(), before)))
            }
            Write::Track(track) => self.track(track, now),
            Write::Untrack { tenant, id } => {
                let before = self
                    .rows
                    .by_id(id)
                    .filter(|row| row.tenant == *tenant)
                    .cloned();
                let Some(row) = before else {
                    return Ok((Outcome::Erased(0), Undo::Nothing));
                };
                self.rows.remove(row.ordinal);
                Ok((
                    Outcome::Erased(1),
                    Undo::Row(row.ordinal, Some(Box::new(row))),
                ))
            }
            Write::Mirror(mirror) => self.mirror(mirror),
        }
    }

    fn wipe(&mut self, space: &Space, pattern: &Pattern, now: Millis) -> (Outcome, Undo) {
        let Some(contents) = self.spaces.get(space) else {
            return (Outcome::Erased(0), Undo::Nothing);
        };
        let prefix = pattern.prefix();
        let names = contents
            .values
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(prefix));
        let keys: Vec<Key> = names
            .filter(|name| pattern.matches(name))
            .map(|name| space.key(name.as_str()))
            .collect();
        let take = |key: Key| {
            let before = self.spaces.put(&key, None);
            (key, before)
        };
        let before: Vec<(Key, Option<Stored>)> = keys.into_iter().map(take).collect();
        let erased = before
            .iter()
            .filter_map(|(_, stored)| stored.as_ref())
            .filter(|stored| stored.is_live(now))
            .count();
        (Outcome::Erased(erased as u64), Undo::Values(before))
    }

    fn clear(&mut self, space: &Space) -> (Outcome, Undo) {
        let Some(before) = self.spaces.remove(space) else {
            return (Outcome::Erased(0), Undo::Nothing);
        };
        if before.logs.contains_key(ITEMS) {
            let generation = self.tick();
            let items = space.log(ITEMS);
            self.spaces.put_log(&items, Some(Log::new(generation)));
        }
        (
            Outcome::Erased(before.size()),
            Undo::Space(space.clone(), Some(before)),
        )
    }

    fn mirror(&mut self, mirror: &Mirror) -> Result<(Outcome, Undo)> {
        let undo = match mirror {
            Mirror::Log { log, head, entries } => self.mirror_log(log, *head, entries)?,
            Mirror::Value { key, entry } => {
                let stored = entry.clone().map(Stored::from);
                self.clock = self
                    .clock
                    .max(stored.as_ref().map_or(0, |stored| stored.version));
                let before = self.spaces.put(key, stored);
                Undo::Value(key.clone(), before)
            }
            Mirror::Row(row) => self.mirror_row(row),
        };
        Ok((Outcome::Done, undo))
    }

    fn undo(&mut self, step: Undo) {
        match step {
            Undo::Nothing => {}
            Undo::Log(log, before) => {
                self.spaces.put_log(&log, before);
            }
            Undo::Bodies(log, bodies) => {
                self.redact(&log, bodies);
            }
            Undo::Append {
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
            Undo::Value(key, before) => {
                self.spaces.put(&key, before);
            }
            Undo::Values(values) => {
                for (key, before) in values {
                    self.spaces.put(&key, before);
                }
            }
            Undo::Space(space, before) => {
                self.spaces.insert(space, before.unwrap_or_default());
            }
            Undo::Row(ordinal, before) => {
                self.rows.remove(ordinal);
                if let Some(before) = before {
                    self.rows.insert(*before);
                }
            }
        }
    }
}

/// `Conflict` unless the row has the mark that the writer saw.
pub fn expect_mark(space: &Space, expected: Option<Mark>, found: Option<Mark>) -> Result<()> {
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
        let head = Head {
            generation: 7,
            last: 2,
        };
        let entry = LogEntry {
            seq: 2,
            id: "b".to_owned(),
            at: 0,
            body: Json::stored("1"),
        };
        let entries = vec![entry];
        let copy = Write::Mirror(Mirror::Log { log, head, entries });
        let mut state = State::default();
        assert!(state.commit(&Batch::of([copy]), 0).is_err());
        assert_eq!((state.spaces.get(&owner), state.clock), (None, 0));
    }
}
