//! A batch as words for the script: judged here on what was seen, written there if that is still so.

use super::rows;
use super::seen::Seen;
use crate::address::{ITEMS, Key, LogKey, Space};
use crate::batch::{Batch, Check, Head, LogEntry, Mirror, NewEntry, Outcome, Write};
use crate::directory::Tracked;
use crate::driver::state::{self, Stored};
use crate::op;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::collections::HashSet;

/// What the script is told, and what its answers mean.
#[derive(Debug, Default)]
pub struct Plan {
    /// What was seen, and what earlier writes made of it.
    pub seen: Seen,
    /// The writes.
    pub words: Vec<String>,
    answers: Vec<Answer>,
    appended: HashSet<LogKey>,
}

/// How one write gets its outcome.
#[derive(Debug)]
enum Answer {
    /// It is known before.
    Known(Outcome),
    /// The script gives a head and sequences.
    Appended,
    /// The script gives a number.
    Erased,
}

impl Plan {
    /// Judges the batch on what was seen.
    pub fn of(batch: &Batch, seen: Seen) -> Result<Self> {
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
    pub fn outcomes(self, told: Vec<Vec<u64>>) -> Result<Vec<Outcome>> {
        let mut told = told.into_iter();
        let missing = || Error::Internal {
            what: "the redis script gave too few answers".to_owned(),
        };
        let outcome = |answer| match answer {
            Answer::Known(outcome) => Ok(outcome),
            Answer::Erased => match told.next().ok_or_else(missing)?[..] {
                [erased] => Ok(Outcome::Erased(erased)),
                _ => Err(missing()),
            },
            Answer::Appended => match &told.next().ok_or_else(missing)?[..] {
                [generation, last, seqs @ ..] => Ok(Outcome::Appended {
                    head: Head {
                        generation: *generation,
                        last: *last,
                    },
                    seqs: seqs.to_vec(),
                }),
                _ => Err(missing()),
            },
        };
        self.answers.into_iter().map(outcome).collect()
    }

    /// More words for the script.
    pub fn say(&mut self, words: &[&str]) {
        self.words
            .extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn check(&mut self, check: &Check) -> Result<()> {
        match check {
            Check::Head { log, head } => {
                state::expect(log, *head, self.seen.heads.get(log).copied().flatten())
            }
            Check::Version { key, version } => {
                let slot = self.seen.values.get(key).and_then(Option::as_ref);
                let found = slot.map(|slot| slot.header.version);
                state::expect(key, *version, found)?;
                if let Some(version) = found {
                    self.guard(key, version);
                }
                Ok(())
            }
            Check::Lease { key, epoch } => {
                let slot = self.seen.values.get(key).and_then(Option::as_ref);
                let held = slot.filter(|slot| op::epoch_of(&slot.whole()) == Some(*epoch));
                let Some(version) = held.map(|slot| slot.header.version) else {
                    return Err(Error::Fenced {
                        lease: key.to_string(),
                        epoch: *epoch,
                    });
                };
                self.guard(key, version);
                Ok(())
            }
            Check::Row { space, mark } => {
                let row = self.seen.rows.get(space).and_then(Option::as_ref);
                state::expect_mark(space, mark.clone(), row.map(Tracked::mark))
            }
        }
    }

    /// What was checked of a value holds while it has this version.
    fn guard(&mut self, key: &Key, version: u64) {
        let (space, version) = (key.space.digest(), version.to_string());
        self.seen.guard(&["version?", &space, &key.name, &version]);
    }

    fn write(&mut self, write: &Write) -> Result<Answer> {
        match write {
            Write::Append { log, entries } => Ok(self.append(log, entries)),
            Write::Redact { log, bodies } => {
                self.say(&["redact", &log.space.digest(), &log.name]);
                self.say(&[&bodies.len().to_string()]);
                for (seq, body) in bodies {
                    self.say(&[&seq.to_string(), body.as_str()]);
                }
                Ok(Answer::Erased)
            }
            Write::Drop { log } => Ok(self.drop_log(log)),
            Write::Apply { key, op, life } => self.apply(key, op, *life).map(Answer::Known),
            Write::Wipe { space, pattern } => Ok(self.wipe(space, pattern)),
            Write::Clear { space } => Ok(self.forget(space, ITEMS)),
            Write::Remove { space } => Ok(self.forget(space, "")),
            Write::Track(track) => rows::track(self, track).map(Answer::Known),
            Write::Untrack { tenant, id } => {
                for row in self.seen.rows.values_mut() {
                    row.take_if(|row| row.tenant == *tenant && row.id == *id);
                }
                self.say(&["untrack", tenant, id]);
                Ok(Answer::Erased)
            }
            Write::Mirror(mirror) => {
                self.mirror(mirror)?;
                Ok(Answer::Known(Outcome::Done))
            }
        }
    }

    fn append(&mut self, log: &LogKey, entries: &[NewEntry]) -> Answer {
        let is_items = if log.name == ITEMS { "1" } else { "0" };
        let count = entries.len().to_string();
        self.say(&["append", &log.space.digest(), &log.name, is_items, &count]);
        for entry in entries {
            self.say(&[&entry.id, entry.body.as_str()]);
        }
        self.appended.insert(log.clone());
        Answer::Appended
    }

    fn wipe(&mut self, space: &Space, pattern: &Pattern) -> Answer {
        for (key, slot) in &mut self.seen.values {
            if key.space == *space && pattern.matches(&key.name) {
                *slot = None;
            }
        }
        let is_all = if pattern.is_all() { "1" } else { "0" };
        let pieces: Vec<&str> = pattern.pieces().collect();
        self.say(&["wipe", &space.digest(), is_all, &pieces.len().to_string()]);
        self.say(&pieces);
        Answer::Erased
    }

    fn drop_log(&mut self, log: &LogKey) -> Answer {
        if let Some(head) = self.seen.heads.get_mut(log) {
            *head = None;
        }
        self.appended.remove(log);
        self.say(&["drop", &log.space.digest(), &log.name]);
        Answer::Erased
    }

    fn forget(&mut self, space: &Space, kept: &str) -> Answer {
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
        self.say(&["forget", &space.digest(), kept]);
        Answer::Erased
    }

    fn mirror(&mut self, mirror: &Mirror) -> Result<()> {
        match mirror {
            Mirror::Log { log, head, entries } => self.mirror_log(log, *head, entries),
            Mirror::Value { key, entry } => {
                let list = self.seen.take_number();
                let stored = entry.clone().map(Stored::from);
                if let Some(stored) = &stored {
                    self.say(&["raise", &stored.version.to_string()]);
                }
                self.store(key, stored, list);
                Ok(())
            }
            Mirror::Row(row) => rows::mirror(self, row),
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
        self.say(&["raise", &generation.to_string()]);
        self.say(&[
            "mirror",
            &log.space.digest(),
            &log.name,
            &generation.to_string(),
        ]);
        self.say(&[&entries.len().to_string()]);
        for entry in entries {
            self.say(&[&entry.seq.to_string(), &entry.id, &entry.at.to_string()]);
            self.say(&[entry.body.as_str()]);
        }
        Ok(())
    }
}
