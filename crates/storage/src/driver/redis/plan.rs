//! A batch as words for the script: judged here on what was seen, written there if that is still so.

use super::loaded_state::LoadedState;
use super::rows;
use crate::address::{ITEMS, LogKey, Space, ValueKey};
use crate::batch::{
    Batch, BatchCheck, BatchWrite, Head, LogEntry, MirrorWrite, NewEntry, WriteOutcome,
};
use crate::directory::IndexRow;
use crate::driver::state::{self, ValueContents};
use crate::operation;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::collections::HashSet;

/// What the script is told, and what its answers mean.
#[derive(Debug, Default)]
pub struct CommitPlan {
    /// What was seen, and what earlier writes made of it.
    pub seen: LoadedState,
    /// The writes.
    pub words: Vec<String>,
    answers: Vec<OutcomeSource>,
    appended: HashSet<LogKey>,
}

/// How one write gets its outcome.
#[derive(Debug)]
enum OutcomeSource {
    /// It is known before.
    Known(WriteOutcome),
    /// The script gives a head and sequences.
    Appended,
    /// The script gives a number.
    Erased,
}

impl CommitPlan {
    /// Judges the batch on what was seen.
    pub fn of(batch: &Batch, seen: LoadedState) -> Result<Self> {
        let mut plan = Self {
            seen,
            ..Self::default()
        };
        batch
            .checks
            .iter()
            .try_for_each(|check| plan.check(check))?;
        for write in &batch.writes {
            let answer = plan.write(write)?;
            plan.answers.push(answer);
        }
        Ok(plan)
    }

    /// The outcomes, from what the script answered.
    pub fn outcomes(self, told: Vec<Vec<u64>>) -> Result<Vec<WriteOutcome>> {
        let mut told = told.into_iter();
        let missing = || Error::internal("the redis script gave too few answers");
        let outcome = |answer| match answer {
            OutcomeSource::Known(outcome) => Ok(outcome),
            OutcomeSource::Erased => match told.next().ok_or_else(missing)?[..] {
                [erased] => Ok(WriteOutcome::Erased(erased)),
                _ => Err(missing()),
            },
            OutcomeSource::Appended => match &told.next().ok_or_else(missing)?[..] {
                [generation, last, seqs @ ..] => Ok(WriteOutcome::appended(
                    Head::new(*generation, *last),
                    seqs.to_vec(),
                )),
                _ => Err(missing()),
            },
        };
        self.answers.into_iter().map(outcome).collect()
    }

    /// More words for the script.
    pub fn push_words(&mut self, words: &[&str]) {
        self.words
            .extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn check(&mut self, check: &BatchCheck) -> Result<()> {
        match check {
            BatchCheck::Head { log, head } => {
                state::expect(log, *head, self.seen.heads.get(log).copied().flatten())
            }
            BatchCheck::Version { key, version } => {
                let slot = self.seen.values.get(key).and_then(Option::as_ref);
                let found = slot.map(|slot| slot.header.version);
                state::expect(key, *version, found)?;
                if let Some(version) = found {
                    self.guard(key, version);
                }
                Ok(())
            }
            BatchCheck::Lease { key, epoch } => {
                let slot = self.seen.values.get(key).and_then(Option::as_ref);
                let held = slot.filter(|slot| operation::epoch_of(&slot.whole()) == Some(*epoch));
                let Some(version) = held.map(|slot| slot.header.version) else {
                    return Err(Error::Fenced {
                        lease: key.to_string(),
                        epoch: *epoch,
                    });
                };
                self.guard(key, version);
                Ok(())
            }
            BatchCheck::Row { space, mark } => {
                let row = self.seen.rows.get(space).and_then(Option::as_ref);
                state::expect_mark(space, mark.clone(), row.map(IndexRow::mark))
            }
            BatchCheck::RowId { space, id } => {
                let row = self.seen.rows.get(space).and_then(Option::as_ref);
                state::expect_row_id(space, id, row.map(|row| row.id.clone()))
            }
        }
    }

    /// What was checked of a value holds while it has this version.
    fn guard(&mut self, key: &ValueKey, version: u64) {
        let (space, version) = (key.space.digest(), version.to_string());
        self.seen.guard(&["version?", &space, &key.name, &version]);
    }

    fn write(&mut self, write: &BatchWrite) -> Result<OutcomeSource> {
        match write {
            BatchWrite::Append { log, entries } => Ok(self.append(log, entries)),
            BatchWrite::Redact { log, bodies } => {
                self.push_words(&["redact", &log.space.digest(), &log.name]);
                self.push_words(&[&bodies.len().to_string()]);
                for (seq, body) in bodies {
                    self.push_words(&[&seq.to_string(), body.as_str()]);
                }
                Ok(OutcomeSource::Erased)
            }
            BatchWrite::Drop { log } => Ok(self.drop_log(log)),
            BatchWrite::Apply { key, op, life } => {
                self.apply(key, op, *life).map(OutcomeSource::Known)
            }
            BatchWrite::Wipe { space, pattern } => Ok(self.wipe(space, pattern)),
            BatchWrite::Clear { space } => Ok(self.forget(space, ITEMS)),
            BatchWrite::Remove { space } => Ok(self.forget(space, "")),
            BatchWrite::Track(track) => rows::track(self, track).map(OutcomeSource::Known),
            BatchWrite::Untrack { tenant, id } => {
                for row in self.seen.rows.values_mut() {
                    row.take_if(|row| row.tenant == *tenant && row.id == *id);
                }
                self.push_words(&["untrack", tenant, id]);
                Ok(OutcomeSource::Erased)
            }
            BatchWrite::Mirror(mirror) => {
                self.mirror(mirror)?;
                Ok(OutcomeSource::Known(WriteOutcome::Done))
            }
        }
    }

    fn append(&mut self, log: &LogKey, entries: &[NewEntry]) -> OutcomeSource {
        let is_items = if log.name == ITEMS { "1" } else { "0" };
        let count = entries.len().to_string();
        self.push_words(&["append", &log.space.digest(), &log.name, is_items, &count]);
        for entry in entries {
            self.push_words(&[&entry.id, entry.body.as_str()]);
        }
        self.appended.insert(log.clone());
        OutcomeSource::Appended
    }

    fn wipe(&mut self, space: &Space, pattern: &Pattern) -> OutcomeSource {
        for (key, slot) in &mut self.seen.values {
            if key.space == *space && pattern.matches(&key.name) {
                *slot = None;
            }
        }
        let is_all = if pattern.is_all() { "1" } else { "0" };
        let pieces: Vec<&str> = pattern.pieces().collect();
        self.push_words(&["wipe", &space.digest(), is_all, &pieces.len().to_string()]);
        self.push_words(&pieces);
        OutcomeSource::Erased
    }

    fn drop_log(&mut self, log: &LogKey) -> OutcomeSource {
        if let Some(head) = self.seen.heads.get_mut(log) {
            *head = None;
        }
        self.appended.remove(log);
        self.push_words(&["drop", &log.space.digest(), &log.name]);
        OutcomeSource::Erased
    }

    fn forget(&mut self, space: &Space, kept: &str) -> OutcomeSource {
        for (key, slot) in &mut self.seen.values {
            if key.space == *space {
                *slot = None;
            }
        }
        for (log, head) in &mut self.seen.heads {
            if log.space == *space {
                *head = None;
            }
        }
        self.appended.retain(|log| log.space != *space);
        self.push_words(&["forget", &space.digest(), kept]);
        OutcomeSource::Erased
    }

    fn mirror(&mut self, mirror: &MirrorWrite) -> Result<()> {
        match mirror {
            MirrorWrite::Log { log, head, entries } => self.mirror_log(log, *head, entries),
            MirrorWrite::Value { key, entry } => {
                let list = self.seen.take_number();
                let stored = entry.clone().map(ValueContents::from);
                if let Some(stored) = &stored {
                    self.push_words(&["raise", &stored.version.to_string()]);
                }
                self.store(key, stored, list);
                Ok(())
            }
            MirrorWrite::Row(row) => rows::mirror(self, row),
        }
    }

    fn mirror_log(&mut self, log: &LogKey, head: Head, entries: &[LogEntry]) -> Result<()> {
        if self.appended.contains(log) {
            let reason = format!("appends to {log} and then mirrors it; these need two batches");
            return Err(Error::invalid("batch", reason));
        }
        let before = self.seen.heads.get(log).copied().flatten();
        let same = before.filter(|before| before.generation == head.generation);
        let mut last = same.map_or(0, |before| before.last);
        for entry in entries {
            if entry.seq > last + 1 {
                return Err(Error::gap(log.to_string(), last + 1, entry.seq));
            }
            last = last.max(entry.seq);
        }
        let generation = head.generation;
        self.seen
            .heads
            .insert(log.clone(), Some(Head { generation, last }));
        self.push_words(&["raise", &generation.to_string()]);
        self.push_words(&[
            "mirror",
            &log.space.digest(),
            &log.name,
            &generation.to_string(),
        ]);
        self.push_words(&[&entries.len().to_string()]);
        for entry in entries {
            self.push_words(&[&entry.seq.to_string(), &entry.id, &entry.at.to_string()]);
            self.push_words(&[entry.body.as_str()]);
        }
        Ok(())
    }
}
