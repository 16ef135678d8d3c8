//! How things are found in the tables, and which locks a batch takes.
//!
//! A space is found by its hash. Every batch takes, sorted and before it looks at anything, transaction-level advisory
//! locks: the store shared, each space it touches shared (exclusive to erase it), each log, value and index row it
//! touches exclusive (shared for a condition on it). So a condition still holds at the commit, also that something is
//! absent; and sorted locks cannot dead-lock. Batches of different sessions never wait for each other, but where they are
//! committed together: then the locks of all of them are taken first, each within half a second or by each batch alone.

use super::direct;
use crate::address::{self, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite};
use std::collections::BTreeMap;

/// A batch that would take more locks than this takes the whole store alone instead: the server's table of locks is
/// finite.
pub(super) const MOST_LOCKS: usize = 256;

/// The 32 bytes by which a space is found.
pub(super) fn space(space: &Space) -> Vec<u8> {
    address::hash(&[&space.tenant, &space.path]).to_vec()
}

/// What a change of this log is called in notifications.
pub(super) fn topic(log: &LogKey) -> String {
    address::digest(&[&log.space.tenant, &log.space.path, &log.name])
}

/// The first 8 bytes as a number.
pub(super) fn number(hash: &[u8]) -> i64 {
    hash.iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

/// How a batch uses what a lock stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockUse {
    /// It only must not change.
    Shared,
    /// It is changed in a way that others in the same transaction may change it too, before or behind: a log grows, or the
    /// server does an operation by itself.
    Joint,
    Exclusive,
}

/// The locks of a batch, or of several that share a transaction.
#[derive(Default)]
pub(super) struct BatchLocks(BTreeMap<i64, LockUse>);

impl BatchLocks {
    /// The locks of this batch in the store of this key.
    pub(super) fn of(store: i64, batch: &Batch) -> Self {
        let mut locks = AdvisoryLocks {
            store,
            keys: BTreeMap::new(),
        };
        let is_step = direct::is_step(batch);
        batch.checks.iter().for_each(|check| locks.check(check));
        for write in &batch.writes {
            match write {
                BatchWrite::Apply { key, .. } if is_step => locks.value(key, LockUse::Joint),
                _ => locks.write(write),
            }
        }
        locks.keys.remove(&store);
        Self(locks.keys)
    }

    /// True where both may be in one transaction: what one of them sees or changes, the other one leaves alone.
    pub(super) fn goes_with(&self, other: &Self) -> bool {
        let (few, many) = match self.0.len() < other.0.len() {
            true => (&self.0, &other.0),
            false => (&other.0, &self.0),
        };
        few.iter().all(|(key, mine)| {
            let other = many.get(key);
            other.is_none_or(|other| mine == other && *mine != LockUse::Exclusive)
        })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds those of a batch that goes with these.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Keys, and whether each is taken alone. The store's comes first, the others follow sorted.
    pub(super) fn columns(&self, store: i64) -> (Vec<i64>, Vec<bool>) {
        if self.0.len() > MOST_LOCKS {
            return (vec![store], vec![true]);
        }
        let others = self.0.iter();
        let others = others.map(|(key, usage)| (*key, *usage != LockUse::Shared));
        std::iter::once((store, false)).chain(others).unzip()
    }
}

struct AdvisoryLocks {
    store: i64,
    keys: BTreeMap<i64, LockUse>,
}

impl AdvisoryLocks {
    fn take(&mut self, place: &[&str], usage: LockUse) {
        let key = self.store ^ number(&address::hash(place));
        let known = self.keys.entry(key).or_insert(usage);
        if *known != usage {
            *known = LockUse::Exclusive;
        }
    }

    fn space(&mut self, space: &Space, usage: LockUse) {
        self.take(&[&space.tenant, &space.path], usage);
    }

    fn part(&mut self, kind: &str, space: &Space, name: &str, usage: LockUse) {
        self.space(space, LockUse::Shared);
        self.take(&[kind, &space.tenant, &space.path, name], usage);
    }

    fn log(&mut self, log: &LogKey, usage: LockUse) {
        self.part("log", &log.space, &log.name, usage);
    }

    fn value(&mut self, key: &ValueKey, usage: LockUse) {
        self.part("value", &key.space, &key.name, usage);
    }

    fn check(&mut self, check: &BatchCheck) {
        match check {
            BatchCheck::Head { log, .. } => self.log(log, LockUse::Shared),
            BatchCheck::Version { key, .. } | BatchCheck::Lease { key, .. } => {
                self.value(key, LockUse::Shared);
            }
            BatchCheck::Row { space, .. } | BatchCheck::RowId { space, .. } => {
                self.row(space, LockUse::Shared);
            }
        }
    }

    fn write(&mut self, write: &BatchWrite) {
        match write {
            BatchWrite::Append { log, .. } => self.log(log, LockUse::Joint),
            BatchWrite::Redact { log, .. } | BatchWrite::Drop { log } => {
                self.log(log, LockUse::Exclusive);
            }
            BatchWrite::Apply { key, .. } => self.value(key, LockUse::Exclusive),
            BatchWrite::Wipe { space, .. }
            | BatchWrite::Clear { space }
            | BatchWrite::Remove { space } => {
                self.space(space, LockUse::Exclusive);
            }
            BatchWrite::Track(track) => self.row(&track.space(), LockUse::Exclusive),
            // Which space the row belongs to is not known yet; the row's own lock and the foreign key of touches do.
            BatchWrite::Untrack { .. } => {}
            BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => self.log(log, LockUse::Exclusive),
            BatchWrite::Mirror(MirrorWrite::Value { key, .. }) => {
                self.value(key, LockUse::Exclusive);
            }
            BatchWrite::Mirror(MirrorWrite::Row(row)) => {
                self.row(&row.space(), LockUse::Exclusive);
                self.take(&["ordinal", &row.ordinal.to_string()], LockUse::Exclusive);
            }
        }
    }

    fn row(&mut self, space: &Space, usage: LockUse) {
        self.part("row", space, "", usage);
    }
}
