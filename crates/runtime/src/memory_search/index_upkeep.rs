//! What is gone from a memory, or has another version there, is erased from its index, term by term.

use super::index_note::MemoryIndexNote;
use super::value_index::ValueIndex;
use crate::error::{ErrorCode, Result};
use crate::index_vectors::{UpkeepTask, work_under};
use ambit_storage::Stores;
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::memory::MemoryLocation;
use ambit_storage::pattern::Pattern;
use std::collections::HashMap;
use std::sync::Arc;

/// So many values are erased from an index in one go.
const GONE: usize = 4_096;

/// Looks at every memory that has an index, in each store in which no other node is at it. What fails is told, and tried again the
/// next time.
pub async fn erase_gone_values(stores: &Stores) {
    for (name, driver) in stores.drivers() {
        if let Err(error) = erase_in(stores, name, driver).await {
            tracing::warn!(store.name = name, %error, "memories that have an index could not be looked for");
        }
    }
}

async fn erase_in(stores: &Stores, name: &str, driver: &Arc<dyn Driver>) -> Result<()> {
    let Some(lease) = UpkeepTask::EraseValues.take(driver).await? else {
        return Ok(());
    };
    work_under(lease, erase_all(stores, name, driver)).await
}

async fn erase_all(stores: &Stores, name: &str, driver: &Arc<dyn Driver>) -> Result<()> {
    let space = Space::memory_indexes();
    let mut pages = ValuePages::of(driver.as_ref(), &space, Pattern::all(), ValuePart::Whole);
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            match erase_noted(stores, name, entry.value.to()?).await {
                // A search is at it.
                Err(error) if error.code == ErrorCode::Conflict => {}
                Err(error) => {
                    tracing::warn!(store.name = name, %error, "what is gone from a memory is still in its index");
                }
                Ok(()) => {}
            }
        }
    }
    Ok(())
}

async fn erase_noted(stores: &Stores, name: &str, note: MemoryIndexNote) -> Result<()> {
    match note.location(stores, name)? {
        Some(location) => erase(&location).await,
        None => Ok(()),
    }
}

async fn erase(location: &MemoryLocation) -> Result<()> {
    loop {
        let mut index = ValueIndex::open(location.clone(), None).await?;
        let there = versions(location).await?;
        if there.is_empty() || !index.is_begun() {
            return index.forget().await;
        }
        let gone = index.gone(&there, GONE);
        index.hide(&gone).await?;
        index.erase_hidden().await?;
        if gone.len() < GONE {
            return Ok(());
        }
    }
}

/// The keys of a memory and the versions of their values.
async fn versions(location: &MemoryLocation) -> Result<HashMap<String, u64>> {
    let (driver, space) = (location.driver.as_ref(), &location.space);
    let mut pages = ValuePages::of(driver, space, Pattern::all(), ValuePart::Nothing);
    let mut versions = HashMap::new();
    while let Some(page) = pages.next().await? {
        let page = page.into_iter();
        versions.extend(page.map(|(key, entry)| (key, entry.version)));
    }
    Ok(versions)
}
