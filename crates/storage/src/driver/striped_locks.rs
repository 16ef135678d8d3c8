//! Writers of one thing in this process take turns.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

const STRIPES: u64 = 64;

/// The right to write, until it is dropped.
pub type StripedGuard = Vec<OwnedMutexGuard<()>>;

/// A fixed number of lanes; each thing has one, which it may share.
pub struct StripedLocks(Vec<Arc<Mutex<()>>>);

impl Default for StripedLocks {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Arc::default()).collect())
    }
}

impl StripedLocks {
    /// Waits until it is the caller's turn at all these things. Lanes are taken in order, so that nobody waits in a ring.
    pub async fn take(&self, things: impl IntoIterator<Item = impl Hash>) -> StripedGuard {
        let lanes: BTreeSet<usize> = things.into_iter().map(stripe).collect();
        let mut held = Vec::with_capacity(lanes.len());
        for mutex in lanes.into_iter().filter_map(|lane| self.0.get(lane)) {
            held.push(Arc::clone(mutex).lock_owned().await);
        }
        held
    }

    /// Waits until everybody who has a turn now has had it.
    pub async fn settle(&self) {
        for mutex in &self.0 {
            drop(mutex.lock().await);
        }
    }
}

fn stripe(thing: impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    usize::try_from(hasher.finish() % STRIPES).unwrap_or(0)
}
