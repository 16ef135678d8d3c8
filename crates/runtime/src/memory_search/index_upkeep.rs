//! What is gone from a memory, or has another version there, is erased from its index, term by term.

use super::value_index::{MemoryIndexNote, ValueIndex};
use crate::error::{ErrorCode, Result};
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::memory::{MemoryLocation, SCOPE};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, Stores};
use std::collections::HashMap;
use std::sync::Arc;

/// So many values are erased from an index in one go.
const GONE: usize = 4_096;

/// Looks at every memory that has an index. What fails is told, and tried again the next time.
pub async fn erase_gone_values(stores: &Stores) {
    for (name, driver) in stores.drivers() {
        if let Err(error) = erase_in(stores, name, driver).await {
            tracing::warn!(store.name = name, %error, "memories that have an index could not be looked for");
        }
    }
}

async fn erase_in(stores: &Stores, name: &str, driver: &Arc<dyn Driver>) -> Result<()> {
    let space = Space::memory_indexes();
    let mut pages = ValuePages::of(driver.as_ref(), &space, Pattern::all(), ValuePart::Whole);
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            match erase_noted(stores, name, &entry.value).await {
                // Somebody else is at it.
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

async fn erase_noted(stores: &Stores, name: &str, note: &Json) -> Result<()> {
    match location(stores, name, note.to()?)? {
        Some(location) => erase(&location).await,
        None => Ok(()),
    }
}

/// Where the memory is that a note is about; `None` where the note is a copy of the one in another store.
fn location(stores: &Stores, name: &str, note: MemoryIndexNote) -> Result<Option<MemoryLocation>> {
    let placement = match note.drivers.as_slice() {
        [] => stores.for_scope(SCOPE)?,
        names => stores.chain(names)?,
    };
    let is_here = placement.names().first().is_some_and(|it| it == name);
    Ok(is_here.then(|| MemoryLocation {
        driver: placement.driver().clone(),
        space: Space {
            tenant: note.tenant,
            path: note.path,
        },
        drivers: note.drivers,
    }))
}

async fn erase(location: &MemoryLocation) -> Result<()> {
    loop {
        let mut index = ValueIndex::open(location.clone()).await?;
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
