//! Writers of one thing in this process take turns.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

const LANES: u64 = 64;

/// The right to write, until it is dropped.
pub type Turn = Vec<OwnedMutexGuard<()>>;

/// A fixed number of lanes; each thing has one, which it may share.
pub struct Turns(Vec<Arc<Mutex<()>>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..LANES).map(|_| Arc::default()).collect())
    }
}

impl Turns {
    /// Waits until it is the caller's turn at all these things. Lanes are taken in order, so that nobody waits in a ring.
    pub async fn take(&self, things: impl IntoIterator<Item = impl Hash>) -> Turn {
        let lanes: BTreeSet<usize> = things.into_iter().map(lane).collect();
        let mut held = Vec::with_capacity(lanes.len());
        for mutex in lanes.into_iter().filter_map(|lane| self.0.get(lane)) {
            held.push(Arc::clone(mutex).lock_owned().await);
        }
        held
    }
}

fn lane(thing: impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    usize::try_from(hasher.finish() % LANES).unwrap_or(0)
}
