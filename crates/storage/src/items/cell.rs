//! One storage of a session: where it is and what is staged. Typed handles and the context share it.

use super::hidden::{HiddenRange, shown, without};
use super::staged::{StagedChanges, StagedReplacement};
use super::view::{self, LogView, Overlay, ViewItem, ViewPiece};
use crate::Result;
use crate::address::{ERASURES, ITEMS, OVERLAYS, Space};
use crate::batch::{BatchCheck, BatchWrite, Head, NewEntry};
use crate::driver::{Driver, LogRange, ValuePart};
use crate::identity::SessionIdentity;
use crate::json::Json;
use crate::operation::Operation;
use crate::stores::Placement;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bodies above this many bytes are kept beside the log, so that reading a tail stays cheap.
pub const INLINE: usize = 64 << 10;

/// The last items of a view with staged changes.
pub(crate) struct ViewEnd {
    /// The stored view; nothing is known of it where its whole is to be replaced.
    pub(crate) view: LogView,
    /// How many items it has in front of these.
    pub(crate) before: u64,
    pub(crate) items: Vec<ViewItem>,
}

#[derive(Debug)]
pub(crate) struct StorageCell {
    /// The prefix, which is the scope of its identity.
    pub(crate) prefix: String,
    pub(crate) identity: SessionIdentity,
    pub(crate) placement: Placement,
    staged: Mutex<StagedChanges>,
    is_stale_possible: AtomicBool,
}

impl StorageCell {
    pub(crate) fn new(
        prefix: &str,
        identity: impl std::borrow::Borrow<SessionIdentity>,
        placement: Placement,
    ) -> Result<Self> {
        let identity = identity.borrow().with_scope(prefix)?;
        Ok(Self {
            prefix: prefix.to_owned(),
            identity,
            placement,
            staged: Mutex::default(),
            is_stale_possible: AtomicBool::default(),
        })
    }

    pub(crate) fn space(&self, tenant: &str) -> Space {
        Space::of(tenant, &self.identity)
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        self.placement.driver().as_ref()
    }

    pub(crate) fn staged(&self) -> MutexGuard<'_, StagedChanges> {
        self.staged.lock()
    }

    pub(crate) fn is_dirty(&self) -> bool {
        !self.staged().is_clean()
    }

    pub(crate) fn discard(&self) {
        *self.staged() = StagedChanges::default();
    }

    /// Stages an item behind all others.
    pub(crate) fn append(&self, entry: NewEntry) {
        self.staged().appends.push(entry);
    }

    /// The stored view; whether a secondary has answered is remembered.
    pub(crate) async fn view(&self, tenant: &str) -> Result<LogView> {
        let view = LogView::open(self.driver(), &self.space(tenant)).await?;
        self.note_staleness(&view);
        Ok(view)
    }

    fn note_staleness(&self, view: &LogView) {
        let is_stale_possible = &self.is_stale_possible;
        is_stale_possible.store(view.stale_possible, Ordering::Relaxed);
    }

    /// True where the last read was answered by a secondary.
    pub(crate) fn is_stale_possible(&self) -> bool {
        self.is_stale_possible.load(Ordering::Relaxed)
    }

    /// The stored view with staged changes: items from where `from` says, knowing how many there are, at most `limit`.
    pub(crate) async fn read(
        &self,
        tenant: &str,
        from: impl FnOnce(u64) -> u64,
        limit: usize,
    ) -> Result<Vec<ViewItem>> {
        let staged = self.staged().clone();
        let added = staged.appends.len() as u64;
        let (mut items, stored, from) = match &staged.basis {
            Some(basis) => {
                let all = basis.view.clone().unwrap_or_default();
                let count = all.len() as u64;
                let from = from(count + added);
                (
                    all.into_iter().skip(to_usize(from)).take(limit).collect(),
                    count,
                    from,
                )
            }
            None => {
                let view = self.view(tenant).await?;
                let from = from(view.count() + added);
                (
                    view.read(self.driver(), &self.space(tenant), from, limit)
                        .await?,
                    view.count(),
                    from,
                )
            }
        };
        let skip = to_usize(from.saturating_sub(stored));
        let wanted = limit - items.len();
        items.extend(
            staged
                .appends
                .into_iter()
                .skip(skip)
                .take(wanted)
                .map(unsaved),
        );
        Ok(items)
    }

    /// The last items of the stored view with staged changes, at most `limit`.
    pub(crate) async fn tail(&self, tenant: &str, limit: usize) -> Result<Vec<ViewItem>> {
        let mut items = self.end(tenant, limit).await?.items;
        items.drain(..items.len().saturating_sub(limit));
        Ok(items)
    }

    /// The same, with the stored view, and with whatever else of it was there without reading more.
    pub(crate) async fn end(&self, tenant: &str, limit: usize) -> Result<ViewEnd> {
        let staged = self.staged().clone();
        let (view, mut items) = match staged.basis {
            Some(basis) => (LogView::default(), basis.view.unwrap_or_default()),
            None => {
                let stored = LogView::tail(self.driver(), &self.space(tenant), limit).await?;
                self.note_staleness(&stored.0);
                stored
            }
        };
        let before = view.count().saturating_sub(items.len() as u64);
        items.extend(staged.appends.into_iter().map(unsaved));
        Ok(ViewEnd {
            view,
            before,
            items,
        })
    }

    /// How many items the view has, staged ones included.
    pub(crate) async fn count(&self, tenant: &str) -> Result<u64> {
        let staged = self.staged().clone();
        let stored = match staged.basis {
            Some(basis) => basis.view.unwrap_or_default().len() as u64,
            None => self.view(tenant).await?.count(),
        };
        Ok(stored + staged.appends.len() as u64)
    }

    /// The head of the stored items: absent, empty or more.
    pub(crate) async fn head(&self, tenant: &str) -> Result<Option<Head>> {
        Ok(self
            .driver()
            .read(&self.space(tenant).log(ITEMS), LogRange::head())
            .await?
            .head)
    }

    /// Stages what `change` makes of the whole present view. The log must not move until it is saved.
    pub(crate) async fn replace(
        &self,
        tenant: &str,
        reason: &str,
        change: impl FnOnce(Vec<ViewItem>) -> Option<Vec<ViewItem>>,
    ) -> Result<bool> {
        let before = self.staged().clone();
        let mut basis = match before.basis.clone() {
            Some(basis) => StagedReplacement {
                revision: basis.revision + 1,
                ..basis
            },
            None => self.read_basis(tenant).await?,
        };
        let mut items = basis.view.take().unwrap_or_default();
        let stored: HashSet<String> = items.iter().map(|item| item.id.clone()).collect();
        let added = before
            .appends
            .iter()
            .filter(|entry| !stored.contains(&entry.id));
        items.extend(added.cloned().map(unsaved));
        let Some(items) = change(items) else {
            return Ok(false);
        };
        basis.view = Some(items);
        reason.clone_into(&mut basis.reason);
        let mut staged = self.staged();
        // Others may have saved or added something meanwhile: only what is in the new view goes from behind it.
        let taken: HashSet<&str> = before
            .appends
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        staged
            .appends
            .retain(|entry| !taken.contains(entry.id.as_str()));
        staged.basis = Some(basis);
        Ok(true)
    }

    /// Stages the erasure of view and archive.
    pub(crate) async fn clear(&self, tenant: &str) -> Result<()> {
        let view = self.view(tenant).await?;
        let basis = StagedReplacement {
            view: None,
            reason: "clear".to_owned(),
            ..StagedReplacement::of(&view)
        };
        *self.staged() = StagedChanges {
            basis: Some(basis),
            ..StagedChanges::default()
        };
        Ok(())
    }

    async fn read_basis(&self, tenant: &str) -> Result<StagedReplacement> {
        let key = self.space(tenant).key(ERASURES);
        let erasures = self.driver().get(&key, ValuePart::Nothing).await?;
        let view = self.view(tenant).await?;
        let items = view
            .read(self.driver(), &self.space(tenant), 0, usize::MAX)
            .await?;
        Ok(StagedReplacement {
            view: Some(items),
            erasures: erasures.map(|entry| entry.version),
            ..StagedReplacement::of(&view)
        })
    }

    /// The checks and writes that make `staged` durable.
    pub(crate) fn writes(
        &self,
        tenant: &str,
        staged: &StagedChanges,
    ) -> Result<(Vec<BatchCheck>, Vec<BatchWrite>)> {
        let space = self.space(tenant);
        let (mut checks, mut writes) = (Vec::new(), Vec::new());
        if let Some(basis) = &staged.basis {
            checks.push(BatchCheck::head(space.log(ITEMS), basis.items));
            match &basis.view {
                None if basis.items.is_some() => writes.push(BatchWrite::Clear {
                    space: space.clone(),
                }),
                None => {}
                Some(items) => {
                    checks.push(BatchCheck::head(space.log(OVERLAYS), basis.overlays));
                    checks.push(BatchCheck::version(space.key(ERASURES), basis.erasures));
                    replacement(&space, basis, items, &mut writes)?;
                }
            }
            if basis.is_done {
                checks.clear();
            }
        }
        append(&space, staged.appends.iter().cloned(), &mut writes)?;
        writes.extend(staged.further_writes());
        checks.extend(staged.checks.iter().map(|(_, check)| check.clone()));
        Ok((checks, writes))
    }

    /// Forgets what a commit has made durable, keeping what was staged meanwhile.
    pub(crate) fn committed(&self, written: &StagedChanges) {
        let mut staged = self.staged();
        let done: HashSet<&str> = written
            .appends
            .iter()
            .map(|done| done.id.as_str())
            .collect();
        staged
            .appends
            .retain(|entry| !done.contains(entry.id.as_str()));
        let beside: HashSet<&str> = written.extra.iter().map(|(id, _)| id.as_str()).collect();
        staged.extra.retain(|(id, _)| !beside.contains(id.as_str()));
        let bound: HashSet<&str> = written.checks.iter().map(|(id, _)| id.as_str()).collect();
        staged.checks.retain(|(id, _)| !bound.contains(id.as_str()));
        staged.is_doubtful = false;
        // What was changed once more while this was written is not durable; the log has moved away under it.
        if staged.basis.as_ref().map(StagedReplacement::overlay)
            == written.basis.as_ref().map(StagedReplacement::overlay)
        {
            staged.basis = None;
        }
    }
}

/// An item that has no place in the archive yet.
pub(crate) fn unsaved(entry: NewEntry) -> ViewItem {
    ViewItem {
        id: entry.id,
        seq: None,
        at: 0,
        body: entry.body,
        from: Vec::new(),
    }
}

/// Writes for a new view: items that the archive lacks are added to it, then an overlay shows the chosen ones.
fn replacement(
    space: &Space,
    basis: &StagedReplacement,
    items: &[ViewItem],
    writes: &mut Vec<BatchWrite>,
) -> Result<()> {
    let mut last = basis.items.map_or(0, |head| head.last);
    let mut parts: Vec<ViewPiece> = Vec::new();
    let mut added = Vec::new();
    for item in items {
        let seq = match item.seq {
            Some(seq) => seq,
            None if item.from.is_empty() => {
                last += 1;
                added.push(NewEntry::new(item.id.clone(), item.body.clone()));
                last
            }
            None => {
                let ViewItem { id, body, from, .. } = item.clone();
                parts.push(ViewPiece::Made { id, body, from });
                continue;
            }
        };
        view::keep(&mut parts, seq);
    }
    append(space, added.into_iter(), writes)?;
    let shows_all = last == 0 || parts == [ViewPiece::Kept(1, last)];
    if basis.previous.is_some() || !shows_all {
        let removed = without(&basis.shown, &shown(&parts));
        let removed = removed.into_iter();
        let removed = removed.map(|range| HiddenRange { range, by: None });
        let overlay = Overlay {
            to: last,
            hidden: Some(basis.hidden.iter().cloned().chain(removed).collect()),
            parts,
            reason: basis.reason.clone(),
            previous: basis.previous,
        };
        let entry = NewEntry::new(basis.overlay(), Json::of(&overlay)?);
        writes.push(BatchWrite::append(space.log(OVERLAYS), vec![entry]));
    }
    Ok(())
}

/// Writes that add entries, with large bodies beside the log.
fn append(
    space: &Space,
    entries: impl Iterator<Item = NewEntry>,
    writes: &mut Vec<BatchWrite>,
) -> Result<()> {
    let mut inline = Vec::new();
    for entry in entries {
        if entry.body.as_str().len() <= INLINE {
            inline.push(entry);
            continue;
        }
        let (mark, name) = view::off_loaded(&entry.id, &entry.body)?;
        let op = Operation::Set(entry.body.into());
        writes.push(BatchWrite::apply(space.key(name), op, None));
        inline.push(NewEntry::new(entry.id, mark));
    }
    if !inline.is_empty() {
        writes.push(BatchWrite::append(space.log(ITEMS), inline));
    }
    Ok(())
}

pub(crate) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A cell that several handles share.
pub(crate) type SharedCell = Arc<StorageCell>;
