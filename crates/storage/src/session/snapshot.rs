//! Reading what an index row stands for, without the agent that wrote it.

use super::ambit::Ambit;
use super::list::StorageState;
use crate::address::Space;
use crate::clock::Millis;
use crate::debug::opaque_debug;
use crate::directory::IndexRow;
use crate::driver::{Driver, ValuePart, ValueScan};
use crate::items::{LogView, ViewItem, ViewPiece};
use crate::json::Json;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::sync::Arc;

/// The items of one stored identity as they were when it was opened.
pub struct StorageSnapshot {
    driver: Arc<dyn Driver>,
    space: Space,
    view: LogView,
}

/// An item as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredItem {
    /// Its place, from 1.
    pub position: u64,
    /// Its id.
    pub id: String,
    /// When it was stored; `None` for what stands for other items, as a summary does.
    pub stored_at: Option<Millis>,
    /// The turn that has taken its place, if one has.
    pub superseded_by: Option<String>,
    /// The content.
    pub body: Json,
}

impl StorageSnapshot {
    /// The view of the row's items.
    pub async fn view(ambit: &Ambit, row: &IndexRow) -> Result<Self> {
        if !ambit.caller().may_see(row) {
            return Err(Error::not_found("context", row.id.clone()));
        }
        let driver = ambit.stores().chain(&row.placement)?.driver().clone();
        let space = row.space();
        let view = LogView::open(driver.as_ref(), &space).await?;
        Ok(Self {
            driver,
            space,
            view,
        })
    }

    /// The originals, whatever the view shows.
    pub async fn archive(ambit: &Ambit, row: &IndexRow) -> Result<Self> {
        let mut stored = Self::view(ambit, row).await?;
        let last = stored.view.items.map_or(0, |head| head.last);
        let all = (last > 0).then_some(ViewPiece::Kept(1, last));
        stored.view.pieces = all.into_iter().collect();
        Ok(stored)
    }

    /// Whether there is anything.
    pub fn state(&self) -> StorageState {
        match self.view.items {
            None => StorageState::Absent,
            Some(head) if head.last == 0 => StorageState::Empty,
            Some(_) => StorageState::Live,
        }
    }

    /// True where a secondary answered for a primary that is down.
    pub fn is_stale_possible(&self) -> bool {
        self.view.stale_possible
    }

    /// How many items there are.
    pub fn count(&self) -> u64 {
        self.view.count()
    }

    /// Items behind this position, in order; 0 asks from the first on.
    pub async fn after(&self, position: u64, limit: usize) -> Result<Vec<StoredItem>> {
        let items = self
            .view
            .read(self.driver.as_ref(), &self.space, position, limit)
            .await?;
        let stored = |(position, item): (u64, ViewItem)| StoredItem {
            position,
            id: item.id,
            stored_at: item.seq.map(|_| item.at),
            superseded_by: item.seq.and_then(|seq| self.superseded_by(seq)),
            body: item.body,
        };
        Ok((position + 1..).zip(items).map(stored).collect())
    }

    fn superseded_by(&self, seq: u64) -> Option<String> {
        let mut hidden = self.view.hidden.iter();
        let found = hidden.find(|hidden| hidden.range.from <= seq && seq <= hidden.range.to);
        found.and_then(|hidden| hidden.by.clone())
    }

    /// The names of the values kept beside the items (a memory has nothing but these), behind this one.
    pub async fn values(&self, after: Option<String>, limit: usize) -> Result<Vec<String>> {
        let scan = ValueScan {
            after,
            ..ValueScan::first(Pattern::all(), limit, ValuePart::Nothing)
        };
        let found = self.driver.scan(&self.space, &scan).await?;
        Ok(found.into_iter().map(|(name, _)| name).collect())
    }
}

opaque_debug!(StorageSnapshot, |this| space: this.space);
