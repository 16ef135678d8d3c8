//! How things are found in the tables, and which locks a batch takes.
//!
//! A space is found by its hash. Every batch takes, sorted and before it looks at anything, transaction-level advisory
//! locks: the store shared, each space it touches shared (exclusive to erase it), each log, value and index row it
//! touches exclusive (shared for a condition on it). So a condition still holds at the commit, also that something is
//! absent; batches of different sessions never wait for each other; and sorted locks cannot dead-lock.

use crate::address::{self, Key, LogKey, Space};
use crate::batch::{Batch, Check, Mirror, Write};
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
    let mut locks = Locks {
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

struct Locks {
    store: i64,
    keys: BTreeMap<i64, bool>,
}

impl Locks {
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

    fn value(&mut self, key: &Key, alone: bool) {
        self.part("value", &key.space, &key.name, alone);
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Head { log, .. } => self.log(log, false),
            Check::Version { key, .. } | Check::Lease { key, .. } => self.value(key, false),
            Check::Row { space, .. } => self.row(space, false),
        }
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::Append { log, .. } | Write::Redact { log, .. } | Write::Drop { log } => {
                self.log(log, true);
            }
            Write::Apply { key, .. } => self.value(key, true),
            Write::Wipe { space, .. } | Write::Clear { space } | Write::Remove { space } => {
                self.space(space, true);
            }
            Write::Track(track) => self.row(&Space::of(&track.tenant, &track.identity), true),
            // Which space the row belongs to is not known yet; the row's own lock and the foreign key of touches do.
            Write::Untrack { .. } => {}
            Write::Mirror(Mirror::Log { log, .. }) => self.log(log, true),
            Write::Mirror(Mirror::Value { key, .. }) => self.value(key, true),
            Write::Mirror(Mirror::Row(row)) => {
                self.row(&Space::of(&row.tenant, &row.identity), true);
                self.take(&["ordinal", &row.ordinal.to_string()], true);
            }
        }
    }

    fn row(&mut self, space: &Space, alone: bool) {
        self.part("row", space, "", alone);
    }
}
