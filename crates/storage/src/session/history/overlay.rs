//! Overlays: what the view of a history shows in the place of its archive, laid over it and lifted again.

use super::ChatHistoryStorage;
use crate::address::{ERASURES, ITEMS, OVERLAYS};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, NewEntry};
use crate::driver::{LogRange, ValuePart};
use crate::items::{CHUNK, LogView, Overlay, ViewItem, ViewPiece, archive, keep};
use crate::json::Json;
use crate::message::Message;
use crate::{Error, Result, ids, temporary};

/// How often a log may grow while an overlay is being laid.
const ATTEMPTS: usize = 100;

/// A view as it was read, and what must be as it was for an overlay to be laid over it.
#[derive(Clone, Debug)]
pub(crate) struct ViewSnapshot {
    pub(crate) items: Vec<ViewItem>,
    /// The last sequence that was there when the view took this form.
    pub(crate) covered: u64,
    view: LogView,
    erasures: Option<u64>,
}

/// A view to be shown in the place of one that was seen.
#[derive(Clone, Debug)]
pub(crate) struct NewOverlay<'a> {
    /// Items of the archive, and things made of others.
    pub(crate) items: Vec<ViewItem>,
    /// Why, for the record.
    pub(crate) reason: &'a str,
    /// Calls that it does not show: a result of one that comes meanwhile must not stand alone.
    pub(crate) calls: Vec<String>,
}

impl ChatHistoryStorage {
    /// The id of the overlay that the view shows, if it shows one.
    pub async fn overlay_id(&self) -> Result<Option<String>> {
        Ok(self.open_view().await?.overlay.map(|entry| entry.id))
    }

    /// Lifts the overlay that the view shows now: the view is again what it was before, with all that came since.
    pub async fn restore(&self, overlay_id: &str) -> Result<()> {
        let session = self.session()?;
        session.check_may_write()?;
        let view = self.open_view().await?;
        let shown = view.overlay.filter(|entry| entry.id == overlay_id);
        let shown = shown.ok_or_else(|| {
            Error::not_found(
                "overlay (only the one that is shown now can be lifted)",
                overlay_id,
            )
        })?;
        let log = self.cell().space(session.tenant()).log(OVERLAYS);
        let before = match shown.body.to::<Overlay>()?.previous {
            Some(seq) => session.seen(
                self.cell()
                    .driver()
                    .read(&log, LogRange::from(seq, 1))
                    .await,
            )?,
            None => Default::default(),
        };
        let before = before.entries.first().map(|entry| entry.body.to());
        let mut restored: Overlay = before.transpose()?.unwrap_or_else(Overlay::nothing);
        // It covers all there is, so that nobody takes a report about the lifted view for one about this view.
        let last = view.items.map_or(0, |head| head.last);
        if last > restored.to {
            restored.parts.push(ViewPiece::Kept(restored.to + 1, last));
            restored.to = last;
        }
        "restore".clone_into(&mut restored.reason);
        let (_id, write) = self.overlay(&restored)?;
        let head = view.overlays;
        let mut batch = Batch::of([write]).checking(BatchCheck::Head { log, head });
        batch.checks.extend(session.fence());
        self.cell().driver().commit(batch).await.map(|_| ())
    }

    /// Reads the stored view, and where everything stands that it is made of.
    pub(crate) async fn view_snapshot(&self) -> Result<ViewSnapshot> {
        let session = self.session()?;
        let (space, driver) = (self.cell().space(session.tenant()), self.cell().driver());
        let key = space.key(ERASURES);
        let erasures = session.seen(driver.get(&key, ValuePart::Nothing).await)?;
        let view = self.open_view().await?;
        let items = session.seen(view.read(driver, &space, 0, usize::MAX).await)?;
        let shown = view
            .overlay
            .as_ref()
            .map(|entry| entry.body.to::<Overlay>());
        Ok(ViewSnapshot {
            items,
            covered: shown.transpose()?.map_or(0, |overlay| overlay.to),
            view,
            erasures: erasures.map(|entry| entry.version),
        })
    }

    /// Shows other items in the place of those that were seen, and behind them all that was added since. Refused with
    /// `Conflict` where anything but plain appends has happened, or where an appended result belongs to a hidden call.
    pub(crate) async fn lay(&self, seen: &ViewSnapshot, laying: &NewOverlay<'_>) -> Result<String> {
        let session = self.session()?;
        session.check_may_write()?;
        let mut head = seen.view.items;
        let (id, write) = self.overlay(&overlay_of(seen, laying))?;
        for _ in 0..ATTEMPTS {
            let batch = self.guarded(seen, head, write.clone())?;
            let moved = match self.cell().driver().commit(batch).await {
                Ok(_) => return Ok(id),
                Err(moved @ Error::Conflict { .. }) => moved,
                Err(error) => return Err(error),
            };
            let now = session.seen(self.cell().head(session.tenant()).await)?;
            let (Some(before), Some(after)) = (head, now) else {
                return Err(moved);
            };
            if after.generation != before.generation || after.last == before.last {
                return Err(moved);
            }
            self.check_appended(laying, before.last + 1, after.last)
                .await?;
            head = now;
        }
        Err(Error::busy(
            self.identity().key(),
            format!("it grew {ATTEMPTS} times while its view was being changed"),
        ))
    }

    async fn open_view(&self) -> Result<LogView> {
        let session = self.session()?;
        session.seen(self.cell().view(session.tenant()).await)
    }

    pub(super) fn overlay(&self, overlay: &Overlay) -> Result<(String, BatchWrite)> {
        let session = self.session()?;
        let id = ids::ordered(&session.ambit.stores().options().clock);
        let entry = NewEntry::new(id.clone(), Json::of(overlay)?);
        let log = self.cell().space(session.tenant()).log(OVERLAYS);
        let entries = vec![entry];
        Ok((id, BatchWrite::Append { log, entries }))
    }

    /// The write with what is noted of how it was made, on condition that all is as it was seen and the items end at this head.
    fn guarded(&self, seen: &ViewSnapshot, head: Option<Head>, write: BatchWrite) -> Result<Batch> {
        let session = self.session()?;
        let space = self.cell().space(session.tenant());
        let mut batch = Batch::of([write])
            .checking(BatchCheck::head(space.log(ITEMS), head))
            .checking(BatchCheck::head(space.log(OVERLAYS), seen.view.overlays))
            .checking(BatchCheck::version(space.key(ERASURES), seen.erasures));
        batch.checks.extend(session.fence());
        batch.writes.extend(self.cell().staged().unbound_entries());
        if session.is_temporary() {
            let clock = &session.ambit.stores().options().clock;
            let life = session.ambit.settings().temporary_life;
            batch
                .writes
                .push(temporary::extend_life(&space, clock, life)?);
        }
        Ok(batch)
    }

    async fn check_appended(&self, laying: &NewOverlay<'_>, first: u64, last: u64) -> Result<()> {
        let session = self.session()?;
        let mut next = first;
        while next <= last {
            let limit = usize::try_from(last + 1 - next).unwrap_or(CHUNK).min(CHUNK);
            let page = archive(self.cell(), session.tenant(), next, limit).await;
            let page = session.seen(page)?;
            if page.is_empty() {
                break;
            }
            next += page.len() as u64;
            for item in &page {
                let message: Message = item.body.to()?;
                let Some(result) = message.tool_result else {
                    continue;
                };
                if laying.calls.contains(&result.call_id) {
                    return Err(Error::Conflict {
                        what: self.identity().key(),
                        expected: format!("no result of call {}", result.call_id),
                        found: "one that came meanwhile".to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn overlay_of(seen: &ViewSnapshot, laying: &NewOverlay<'_>) -> Overlay {
    let mut parts = Vec::new();
    for item in &laying.items {
        match item.seq {
            Some(seq) => keep(&mut parts, seq),
            None => parts.push(ViewPiece::Made {
                id: item.id.clone(),
                body: item.body.clone(),
                from: item.from.clone(),
            }),
        }
    }
    Overlay {
        to: seen.view.items.map_or(0, |head| head.last),
        parts,
        reason: laying.reason.to_owned(),
        previous: seen.view.overlay.as_ref().map(|entry| entry.seq),
        hidden: Some(seen.view.hidden.clone()),
    }
}
