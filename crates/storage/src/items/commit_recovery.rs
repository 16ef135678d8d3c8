//! A commit whose answer was lost: what of it is stored is found out before it is repeated, so that nothing is done twice.

use super::CHUNK;
use super::cell::StorageCell;
use super::staged::{StagedChanges, StagedReplacement};
use super::view::LogView;
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::driver::LogRange;
use std::collections::HashSet;

impl StorageCell {
    /// What is still to be written of what is staged. Entries need no look, for a log stores an id once; but sums
    /// would be added again, and a clear or replace would meet its own traces as a conflict.
    pub(crate) async fn unwritten(
        &self,
        tenant: &str,
        staged: &StagedChanges,
    ) -> Result<StagedChanges> {
        let mut staged = staged.clone();
        if !staged.is_doubtful {
            return Ok(staged);
        }
        let space = self.space(tenant);
        let stored = self.stored(&space, &staged).await?;
        staged.extra.retain(|(id, _)| !stored.contains(id));
        let Some(mut basis) = staged.basis.take() else {
            return Ok(staged);
        };
        let view = LogView::open(self.driver(), &space).await?;
        staged.basis = match basis.view {
            Some(_) => {
                basis.is_done = is_replaced(&basis, &view, &stored, staged.appends.len());
                Some(basis)
            }
            None if !is_cleared(&basis, &view, staged.appends.len()) => Some(basis),
            // Clearing what is empty changes nothing, and lets a chain finish with its secondaries.
            None if staged.appends.is_empty() => {
                basis.items = view.items;
                Some(basis)
            }
            None => None,
        };
        Ok(staged)
    }

    /// Which of the staged entries the log has, looked for from its end.
    async fn stored(&self, space: &Space, staged: &StagedChanges) -> Result<HashSet<String>> {
        let unsaved = staged.basis.iter().flat_map(unsaved);
        let appends = staged.appends.iter().map(|entry| entry.id.clone());
        let mut missing: HashSet<String> = unsaved.chain(appends).collect();
        let (mut stored, mut from) = (HashSet::new(), u64::MAX);
        while !missing.is_empty() {
            let range = LogRange::back_from(from, CHUNK);
            let page = self.driver().read(&space.log(ITEMS), range).await?;
            let ids = page.entries.iter().map(|entry| &entry.id);
            stored.extend(ids.filter_map(|id| missing.take(id)));
            match page.entries.last().map(|entry| entry.seq) {
                Some(seq) if seq > 1 => from = seq - 1,
                _ => break,
            }
        }
        Ok(stored)
    }
}

/// The ids of items that the replace adds to the archive.
fn unsaved(basis: &StagedReplacement) -> Vec<String> {
    let items = basis.view.iter().flatten();
    items
        .filter(|item| item.seq.is_none() && item.from.is_empty())
        .map(|item| item.id.clone())
        .collect()
}

/// True where the log is as this clear and the entries behind it leave it.
fn is_cleared(basis: &StagedReplacement, view: &LogView, appends: usize) -> bool {
    let before = basis.items.map_or(0, |head| head.generation);
    view.items
        .is_some_and(|head| head.generation > before && head.last == appends as u64)
}

/// True where the replace's overlay is shown, or where, without one, all its items are there and nothing else is new.
fn is_replaced(
    basis: &StagedReplacement,
    view: &LogView,
    stored: &HashSet<String>,
    appends: usize,
) -> bool {
    if let Some(overlay) = &view.overlay {
        return overlay.id == basis.overlay();
    }
    let added = unsaved(basis);
    let before = basis.items.map_or(0, |head| head.last);
    let last = before + (added.len() + appends) as u64;
    let is_all_there = added.iter().all(|id| stored.contains(id));
    is_all_there && last > before && view.items.is_some_and(|head| head.last == last)
}
