//! The rows of sums of several stores, in order of time. A row that a chain or a move has copied counts once.

use super::UsageAmounts;
use super::period::stretch_of;
use crate::Result;
use crate::address::Space;
use crate::batch::ValueEntry;
use crate::clock::Millis;
use crate::driver::{Driver, ValuePages, ValuePart};
use crate::operation::SumsRow;
use crate::pattern::Pattern;
use crate::usage::UsageLabels;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

/// A store that may have rows of sums.
pub(super) struct SumsStore {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) role: SumsRole,
}

/// What a store is where usage is known to be kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SumsRole {
    /// A primary.
    Primary,
    /// Neither: it may have been either for agents that are gone.
    Unknown,
    /// A secondary, and no primary: its rows are copies, but for those of agents that are gone.
    Secondary,
}

/// The rows of these stores that are not read yet.
pub(super) struct StoredSums<'a> {
    stores: Vec<StoreRows<'a>>,
}

/// Those of one store.
struct StoreRows<'a> {
    driver: &'a dyn Driver,
    role: SumsRole,
    pages: ValuePages<'a>,
    rows: VecDeque<(String, ValueEntry)>,
}

/// A row, and the store that has it.
pub(super) struct StoredSumsRow<'a> {
    pub(super) driver: &'a dyn Driver,
    pub(super) labels: UsageLabels,
    pub(super) sums: UsageAmounts,
    role: SumsRole,
    version: u64,
}

impl<'a> StoredSums<'a> {
    /// Those from this time on.
    pub(super) fn of(stores: &'a [SumsStore], space: &'a Space, from: Option<Millis>) -> Self {
        let first = from.map(|from| format!("{:015}", stretch_of(from)));
        let stores = stores.iter().map(|store| {
            let driver = store.driver.as_ref();
            let pages = ValuePages::of(driver, space, Pattern::all(), ValuePart::Whole);
            StoreRows {
                driver,
                role: store.role,
                pages: pages.after(first.clone()),
                rows: VecDeque::new(),
            }
        });
        Self {
            stores: stores.collect(),
        }
    }

    /// The rows of the next name that count; `None` where there are no more.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<StoredSumsRow<'a>>>> {
        for store in &mut self.stores {
            store.fill().await?;
        }
        let names = self.stores.iter().filter_map(StoreRows::name);
        let Some(next) = names.min().map(str::to_owned) else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for store in &mut self.stores {
            if store.name() == Some(next.as_str())
                && let Some((_, entry)) = store.rows.pop_front()
            {
                found.push(StoredSumsRow::of(store, &entry)?);
            }
        }
        Ok(Some(without_copies(found)))
    }
}

impl StoreRows<'_> {
    async fn fill(&mut self) -> Result<()> {
        while self.rows.is_empty() {
            match self.pages.next().await? {
                Some(page) => self.rows = page.into(),
                None => break,
            }
        }
        Ok(())
    }

    fn name(&self) -> Option<&str> {
        self.rows.front().map(|(name, _)| name.as_str())
    }
}

impl<'a> StoredSumsRow<'a> {
    fn of(store: &StoreRows<'a>, entry: &ValueEntry) -> Result<Self> {
        let row: SumsRow = entry.value.to()?;
        Ok(Self {
            driver: store.driver,
            role: store.role,
            labels: row.labels.to()?,
            sums: row.sums,
            version: entry.version,
        })
    }
}

/// Of rows of one name those that are no copies: a copy is in a secondary, and has its source's version until the source changes.
/// Usage under an identity is kept in one place, and the latest row is that of the source; what was carried over from removed chats
/// may be in several.
fn without_copies(mut rows: Vec<StoredSumsRow<'_>>) -> Vec<StoredSumsRow<'_>> {
    let is_copied = |row: &StoredSumsRow<'_>| row.role == SumsRole::Secondary;
    if !rows.iter().all(is_copied) {
        rows.retain(|row| !is_copied(row));
    }
    rows.sort_by_key(|row| (Reverse(row.version), row.role));
    let is_in_one_place = |row: &StoredSumsRow<'_>| row.labels.identity.is_some();
    if rows.first().is_some_and(is_in_one_place) {
        rows.truncate(1);
    }
    // Of two primaries neither has copies of the other.
    rows.dedup_by(|one, other| {
        one.role != SumsRole::Primary && one.version == other.version && one.sums == other.sums
    });
    rows
}
