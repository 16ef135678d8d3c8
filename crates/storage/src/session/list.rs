//! `ListStorage`: the handle of one storage in a session. Changes are staged and leave memory only by `save`.

use super::commit;
use super::state::Session;
use crate::batch::NewEntry;
use crate::directory::check_page;
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, ViewItem, archive, matched, new_entry};
use crate::json::Json;
use crate::kind::StorageKind;
use crate::report::SaveReport;
use crate::{Error, Result, ids};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Whether a storage was ever written, and holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageState {
    /// Never written, or removed.
    Absent,
    /// Cleared.
    Empty,
    /// It holds items.
    Live,
}

/// The storage of one kind in one session. Cheap to clone; the clones share what is staged.
pub struct ListStorage<K: StorageKind> {
    cell: SharedCell,
    session: Arc<Session>,
    kind: PhantomData<K>,
}

impl<K: StorageKind> ListStorage<K> {
    pub(crate) fn attached(cell: SharedCell, session: &Arc<Session>) -> Self {
        Self {
            cell,
            session: session.clone(),
            kind: PhantomData,
        }
    }

    /// The scoped identity.
    pub fn identity(&self) -> &SessionIdentity {
        &self.cell.identity
    }

    /// True where something is staged.
    pub fn is_dirty(&self) -> bool {
        self.cell.is_dirty()
    }

    /// Whether the store has it, and something in it; staged changes do not count.
    pub async fn state(&self) -> Result<StorageState> {
        let head = self
            .session
            .seen(self.cell.head(self.session.tenant()).await)?;
        Ok(match head {
            None => StorageState::Absent,
            Some(head) if head.last == 0 => StorageState::Empty,
            Some(_) => StorageState::Live,
        })
    }

    /// All items of the view, staged ones included.
    pub async fn get(&self) -> Result<Vec<K::Item>> {
        self.range(0, usize::MAX).await
    }

    /// Items of the view from this position (counted from 0), at most `limit`.
    pub async fn range(&self, from: u64, limit: usize) -> Result<Vec<K::Item>> {
        let items = self.cell.read(self.session.tenant(), |_| from, limit).await;
        self.session
            .seen(items.and_then(|items| Self::typed(&items)))
    }

    /// How many items the view has, staged ones included.
    pub async fn count(&self) -> Result<u64> {
        self.session
            .seen(self.cell.count(self.session.tenant()).await)
    }

    /// The last item.
    pub async fn last(&self) -> Result<Option<K::Item>> {
        Ok(self.tail(1).await?.pop())
    }

    /// The last items, in order.
    pub async fn tail(&self, limit: usize) -> Result<Vec<K::Item>> {
        let items = self.cell.tail(self.session.tenant(), limit).await;
        self.session
            .seen(items.and_then(|items| Self::typed(&items)))
    }

    /// True where the last read was answered by a secondary because the primary could not be reached: what was written
    /// last may be missing from it.
    pub fn is_stale_possible(&self) -> bool {
        self.cell.is_stale_possible()
    }

    /// Every item ever added since the last clear, whatever the view shows; a page from this sequence (from 1).
    pub async fn archive(&self, from: u64, limit: usize) -> Result<Vec<K::Item>> {
        check_page(limit)?;
        let items = archive(&self.cell, self.session.tenant(), from, limit).await;
        self.session
            .seen(items.and_then(|items| Self::typed(&items)))
    }

    /// Stages an item behind all others; it is kept as it is now.
    pub fn add(&self, item: impl Borrow<K::Item>) -> Result<()> {
        self.cell.append(self.entry(item.borrow())?);
        Ok(())
    }

    /// Stages these items in place of all there are. Items that the view has already keep their place in the archive.
    pub async fn set(&self, items: &[K::Item]) -> Result<()> {
        let entries = items
            .iter()
            .map(|item| self.entry(item))
            .collect::<Result<Vec<_>>>()?;
        let replace = |before: Vec<ViewItem>| Some(matched(before, entries));
        self.session.seen(
            self.cell
                .replace(self.session.tenant(), "set", replace)
                .await,
        )?;
        Ok(())
    }

    /// Stages the removal of the first item that matches from the view; false where none does.
    pub async fn remove_item(&self, is_it: impl Fn(&K::Item) -> bool) -> Result<bool> {
        let take = |mut items: Vec<ViewItem>| {
            let at = items
                .iter()
                .position(|item| item.body.to::<K::Item>().is_ok_and(|item| is_it(&item)))?;
            items.remove(at);
            Some(items)
        };
        self.session.seen(
            self.cell
                .replace(self.session.tenant(), "remove_item", take)
                .await,
        )
    }

    /// As `remove_item`, but an item that is not there is `NotFound`.
    pub async fn remove_item_or_fail(&self, is_it: impl Fn(&K::Item) -> bool) -> Result<()> {
        if self.remove_item(is_it).await? {
            return Ok(());
        }
        Err(Error::not_found("item", self.identity().key()))
    }

    /// Stages the erasure of all items, archive included.
    pub async fn clear(&self) -> Result<()> {
        self.session
            .seen(self.cell.clear(self.session.tenant()).await)
    }

    /// Drops what is staged.
    pub fn discard(&self) {
        self.cell.discard();
    }

    /// Writes what is staged in this storage.
    pub async fn save(&self) -> Result<SaveReport> {
        commit::save(&self.session.context(), std::slice::from_ref(&self.cell)).await
    }

    /// Reads again; after a failed read this is what allows writing once more.
    pub async fn read(&self) -> Result<()> {
        self.state().await.map(|_| ())
    }

    /// The items as what they are; a body of another form is a read that failed.
    fn typed(items: &[ViewItem]) -> Result<Vec<K::Item>> {
        items.iter().map(|item| item.body.to()).collect()
    }

    fn entry(&self, item: &K::Item) -> Result<NewEntry> {
        let options = self.session.ambit.stores().options();
        new_entry(
            ids::ordered(&options.clock),
            Json::of(item)?,
            options.limits.value,
        )
    }
}

impl<K: StorageKind> Clone for ListStorage<K> {
    fn clone(&self) -> Self {
        Self::attached(self.cell.clone(), &self.session)
    }
}

impl<K: StorageKind> fmt::Debug for ListStorage<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ListStorage")
            .field(&self.cell.identity.key())
            .finish()
    }
}
