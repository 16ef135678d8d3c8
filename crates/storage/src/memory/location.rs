//! Where a memory and the index of its words are.

use super::{Memory, Namespace};
use crate::address::{Space, ValueKey};
use crate::batch::BatchWrite;
use crate::driver::Driver;
use crate::operation::Operation;
use std::sync::Arc;

/// Where a memory is that can have an index.
#[derive(Clone)]
pub struct MemoryLocation {
    /// What reads and writes it.
    pub driver: Arc<dyn Driver>,
    /// Its values.
    pub space: Space,
    /// The names of the drivers that keep a conversation's memory. None for those of users and teams, which are all kept
    /// where the scope [`SCOPE`](super::SCOPE) is.
    pub drivers: Vec<String>,
}

impl MemoryLocation {
    /// Where its index is.
    pub fn index(&self) -> Space {
        Space::memory_index(&self.space, &self.drivers)
    }

    /// Where it is noted that there is an index.
    pub fn note(&self) -> ValueKey {
        note_of(&self.index())
    }

    /// The writes that drop its index.
    pub fn forget_index(&self) -> [BatchWrite; 2] {
        forget_index(&self.space, &self.drivers)
    }
}

impl Memory {
    /// Where it is; `None` where it has no owner, ends by itself with a request or session, or is a store of the app: such
    /// a memory has no index.
    pub fn location(&self) -> Option<MemoryLocation> {
        let drivers = match self.namespace {
            Namespace::User | Namespace::Team => Vec::new(),
            Namespace::Chat => self.tracking.as_ref()?.track.placement.clone(),
            Namespace::Context | Namespace::Store => return None,
        };
        Some(MemoryLocation {
            driver: self.driver.clone(),
            space: self.owner.as_ref()?.space.clone(),
            drivers,
        })
    }
}

/// The writes that go with every other one by which a memory is forgotten as a whole: they drop the index of its words, which
/// the next search begins anew. Whoever adds to an index holds on to the state it had before they read any value, so that none
/// comes back behind these writes.
pub(crate) fn forget_index(memory: &Space, drivers: &[String]) -> [BatchWrite; 2] {
    let space = Space::memory_index(memory, drivers);
    let note = BatchWrite::apply(note_of(&space), Operation::Del, None);
    [BatchWrite::Remove { space }, note]
}

fn note_of(index: &Space) -> ValueKey {
    Space::memory_indexes().key(index.digest())
}
