//! Where a memory and the index of its words are.

use super::{Memory, Namespace};
use crate::address::{INDEX_MANIFEST, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::driver::{Driver, ValuePart, ValueScan};
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::sync::Arc;

/// So many pages of an index are erased by one commit, which others wait for.
const STEP: usize = 64;

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
    /// The person whose it is, or whose conversation's.
    pub user: Option<String>,
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

    /// The write from which on nothing finds its index, which [`erase_index`](Self::erase_index) is to follow.
    pub(crate) fn hide_index(&self) -> BatchWrite {
        let manifest = self.index().key(INDEX_MANIFEST);
        BatchWrite::apply(manifest, Operation::Del, None)
    }

    /// Erases an index that is hidden, in steps for which nobody waits long. The note goes last: as long as it is there no index
    /// begins, and by it upkeep finds what a node that was killed has left.
    pub async fn erase_index(&self) -> Result<()> {
        let noted = self.driver.get(&self.note(), ValuePart::Nothing).await?;
        match noted {
            Some(_) => self.erase_steps().await,
            None => Ok(()),
        }
    }

    async fn erase_steps(&self) -> Result<()> {
        let index = self.index();
        let scan = ValueScan::first(Pattern::all(), STEP, ValuePart::Nothing);
        loop {
            let found = self.driver.scan(&index, &scan).await?;
            let is_last = found.len() < STEP;
            let pages = found.into_iter().map(|(name, _)| index.key(name));
            let mut step = match is_last {
                true => Batch::of(self.forget_index()),
                false => Batch::of(pages.map(|key| BatchWrite::apply(key, Operation::Del, None))),
            };
            let manifest = index.key(INDEX_MANIFEST);
            step.checks.push(BatchCheck::version(manifest, None));
            match self.driver.commit(step).await {
                // Others have erased the rest, and begun another index.
                Err(Error::Conflict { .. }) => return Ok(()),
                done => drop(done?),
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl Memory {
    /// Where it is; `None` where it has no owner, ends by itself with a request or session, or is a store of the app: such
    /// a memory has no index.
    pub fn location(&self) -> Option<MemoryLocation> {
        let owner = self.owner.as_ref()?;
        let (drivers, user) = match self.namespace {
            Namespace::User => (Vec::new(), Some(owner.id.clone())),
            Namespace::Team => (Vec::new(), None),
            Namespace::Chat => {
                let track = &self.tracking.as_ref()?.track;
                let user = track.identity.user_id().map(str::to_owned);
                (track.placement.clone(), user)
            }
            Namespace::Context | Namespace::Store => return None,
        };
        Some(MemoryLocation {
            driver: self.driver.clone(),
            space: owner.space.clone(),
            drivers,
            user,
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
