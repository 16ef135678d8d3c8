//! Work on the indexes of a store that one node does for all.

use crate::error::Result;
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::pattern::Pattern;
use std::sync::Arc;

/// A task that one node at a time does in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepTask {
    /// What is gone from memories is erased from their indexes.
    EraseValues,
    /// Indexes of memories get vectors.
    EmbedValues,
    /// Indexes of conversations get vectors.
    EmbedMessages,
}

impl UpkeepTask {
    fn name(self) -> &'static str {
        match self {
            Self::EraseValues => "erase-values",
            Self::EmbedValues => "embed-values",
            Self::EmbedMessages => "embed-messages",
        }
    }

    /// What says which indexes there are to look after.
    fn notes(self) -> Space {
        match self {
            Self::EraseValues | Self::EmbedValues => Space::memory_indexes(),
            Self::EmbedMessages => Space::recall_indexes(),
        }
    }

    /// Takes the task on; `None` where there is no index, or another node is at it. A store without indexes is not written to.
    pub async fn take(self, driver: &Arc<dyn Driver>) -> Result<Option<Lease>> {
        let any = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
        if driver.scan(&self.notes(), &any).await?.is_empty() {
            return Ok(None);
        }
        let key = Space::index_upkeep(self.name()).lease();
        match Lease::take(driver.clone(), key, OnBusy::Reject).await {
            Ok(lease) => Ok(Some(lease)),
            Err(Error::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Does a part of a task as long as its lease is held, then gives that back.
pub async fn work_under(lease: Lease, work: impl Future<Output = Result<()>>) -> Result<()> {
    let worked = tokio::select! {
        worked = work => worked,
        _ = lease.ended() => Ok(()),
    };
    match lease.release().await {
        Ok(()) | Err(Error::Fenced { .. }) => {}
        Err(error) => tracing::warn!(%error, "the lease of work on indexes ends by itself"),
    }
    worked
}
