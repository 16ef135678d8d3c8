//! How things are found in the tables, and which locks a batch takes.
//!
//! A space is found by its hash. Every batch takes, sorted and before it looks at anything, transaction-level advisory
//! locks: the store shared, each space it touches shared (exclusive to erase it), each log, value and index row it
//! touches exclusive (shared for a condition on it). So a condition still holds at the commit, also that something is
//! absent; batches of different sessions never wait for each other; and sorted locks cannot dead-lock.

use crate::address::{self, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite};
use std::collections::BTreeMap;

/// A batch that would take more locks than this takes the whole store alone instead: the server's table of locks is
/// finite.
const MOST_LOCKS: usize = 256;

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

/// The locks of a batch: keys, and whether each is taken alone. The store's comes first, the others follow sorted.
pub(super) fn locks(store: i64, batch: &Batch) -> (Vec<i64>, Vec<bool>) {
    let mut locks = AdvisoryLocks {
        store,
        keys: BTreeMap::new(),
    };
    batch.checks.iter().for_each(|check| locks.check(check));
    batch.writes.iter().for_each(|write| locks.write(write));
    if locks.keys.len() > MOST_LOCKS {
        return (vec![store], vec![true]);
    }
    locks.keys.remove(&store);
    let first = std::iter::once((store, false));
    first.chain(locks.keys).unzip()
}

struct AdvisoryLocks {
    store: i64,
    keys: BTreeMap<i64, bool>,
}

impl AdvisoryLocks {
    fn take(&mut self, place: &[&str], alone: bool) {
        let key = self.store ^ number(&address::hash(place));
        *self.keys.entry(key).or_insert(false) |= alone;
    }

    fn space(&mut self, space: &Space, alone: bool) {
        self.take(&[&space.tenant, &space.path], alone);
    }

    fn part(&mut self, kind: &str, space: &Space, name: &str, alone: bool) {
        self.space(space, false);
        self.take(&[kind, &space.tenant, &space.path, name], alone);
    }

    fn log(&mut self, log: &LogKey, alone: bool) {
        self.part("log", &log.space, &log.name, alone);
    }

    fn value(&mut self, key: &ValueKey, alone: bool) {
        self.part("value", &key.space, &key.name, alone);
    }

    fn check(&mut self, check: &BatchCheck) {
        match check {
            BatchCheck::Head { log, .. } => self.log(log, false),
            BatchCheck::Version { key, .. } | BatchCheck::Lease { key, .. } => {
                self.value(key, false);
            }
            BatchCheck::Row { space, .. } => self.row(space, false),
        }
    }

    fn write(&mut self, write: &BatchWrite) {
        match write {
            BatchWrite::Append { log, .. }
            | BatchWrite::Redact { log, .. }
            | BatchWrite::Drop { log } => {
                self.log(log, true);
            }
            BatchWrite::Apply { key, .. } => self.value(key, true),
            BatchWrite::Wipe { space, .. }
            | BatchWrite::Clear { space }
            | BatchWrite::Remove { space } => {
                self.space(space, true);
            }
            BatchWrite::Track(track) => self.row(&track.space(), true),
            // Which space the row belongs to is not known yet; the row's own lock and the foreign key of touches do.
            BatchWrite::Untrack { .. } => {}
            BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => self.log(log, true),
            BatchWrite::Mirror(MirrorWrite::Value { key, .. }) => self.value(key, true),
            BatchWrite::Mirror(MirrorWrite::Row(row)) => {
                self.row(&row.space(), true);
                self.take(&["ordinal", &row.ordinal.to_string()], true);
            }
        }
    }

    fn row(&mut self, space: &Space, alone: bool) {
        self.part("row", space, "", alone);
    }
}
