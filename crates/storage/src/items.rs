//! The items of one storage: the log of all there ever were, the view over it, and what is staged.

mod cell;
mod commit_recovery;
mod hidden;
mod staged;
mod view;

pub use cell::INLINE;
pub(crate) use cell::{SharedCell, StorageCell, ViewEnd, to_usize};
pub(crate) use hidden::{EntryRange, HiddenRange, behind, cut, shown, visible};
pub(crate) use staged::StagedChanges;
pub(crate) use view::{
    CHUNK, LogView, Overlay, ViewItem, ViewPiece, blob_name, item as load, keep, off_loaded,
};

use crate::address::ITEMS;
use crate::batch::NewEntry;
use crate::driver::LogRange;
use crate::json::Json;
use crate::{Error, Result};

/// The body of a new item, refused where no store would take it.
pub(crate) fn new_entry(id: String, body: Json, limit: usize) -> Result<NewEntry> {
    let actual = body.as_str().len();
    if actual > limit {
        return Err(Error::limited("item bytes", actual as u64, limit as u64));
    }
    Ok(NewEntry { id, body })
}

/// A page of the archive, with off-loaded bodies.
pub(crate) async fn archive(
    cell: &StorageCell,
    tenant: &str,
    from: u64,
    limit: usize,
) -> Result<Vec<ViewItem>> {
    let space = cell.space(tenant);
    let page = cell
        .driver()
        .read(&space.log(ITEMS), LogRange::from(from.max(1), limit))
        .await?;
    let mut items = Vec::with_capacity(page.entries.len());
    for entry in page.entries {
        items.push(view::item(cell.driver(), &space, entry).await?);
    }
    Ok(items)
}

/// The new items, each with the place in the archive of an equal one before, where there is one.
pub(crate) fn matched(mut before: Vec<ViewItem>, entries: Vec<NewEntry>) -> Vec<ViewItem> {
    let place = |entry: NewEntry| {
        let known = before.iter().position(|item| item.body == entry.body);
        known.map_or_else(|| cell::unsaved(entry), |at| before.remove(at))
    };
    entries.into_iter().map(place).collect()
}
