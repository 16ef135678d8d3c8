//! Saving: what is staged becomes durable, with its index rows, in as few commits as there are stores.

mod restage;
mod saved_events;
mod separate_index;

use super::context::Context;
use super::events::{ChatHistorySaving, ContextSaving, IdentityStorageSaving};
use super::history::ChatHistoryStorage;
use super::usage::UsageStorage;
use crate::address::{ITEMS, LogKey};
use crate::batch::{Batch, BatchWrite, NewEntry, WriteOutcome};
use crate::bus::at_same_depth;
use crate::detach_on_drop::DetachOnDrop;
use crate::directory::TrackRequest;
use crate::erasure::{Erasure, RemovalAction};
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, StagedChanges};
use crate::kind::StorageKind;
use crate::report::SaveReport;
use crate::stores::Placement;
use crate::{Error, Result, temporary};
use futures::future::BoxFuture;
use saved_events::{fire_saved_event, fire_storage_events};
use std::collections::BTreeMap;
use tracing::Instrument;

/// One storage and what of it is written now.
struct DirtyStorage {
    cell: SharedCell,
    staged: StagedChanges,
}

/// Writes what is staged in these storages. Listeners are asked first; from then on the save goes on whoever leaves, so
/// that it is neither stopped halfway nor done twice.
pub(crate) fn save<'a>(
    context: &'a Context,
    cells: &'a [SharedCell],
) -> BoxFuture<'a, Result<SaveReport>> {
    Box::pin(async move {
        context.session().check_may_write()?;
        ask_context(context, cells).await?;
        let is_clear = cells.iter().any(|cell| cell.staged().is_clear());
        let dirty: Vec<SharedCell> = cells
            .iter()
            .filter(|cell| cell.is_dirty())
            .cloned()
            .collect();
        let parts = if dirty.is_empty() {
            Vec::new()
        } else {
            ask_parts(context, dirty).await?
        };
        let work = write_and_tell(context.clone(), parts, is_clear);
        DetachOnDrop::new(at_same_depth(work.in_current_span())).await
    })
}

async fn write_and_tell(
    context: Context,
    asked: Vec<DirtyStorage>,
    is_clear: bool,
) -> Result<SaveReport> {
    let mut written = CommitResult::default();
    let (parts, outcome) = {
        let _alone = context.session().saving.lock().await;
        let parts: Vec<DirtyStorage> = asked
            .iter()
            .filter_map(DirtyStorage::still_staged)
            .collect();
        let outcome = write_parts(&context, &parts, &mut written).await;
        (parts, outcome)
    };
    let report = SaveReport {
        written: written.parts.iter().map(SessionIdentity::key).collect(),
        rows_added: written.rows.iter().map(|row| row.id.clone()).collect(),
        degraded: context.ambit().stores().degraded(),
    };
    // What some stores have is durable, even if others failed.
    fire_storage_events(&context, &parts, written).await;
    outcome?;
    fire_saved_event(&context, is_clear, &report).await;
    Ok(report)
}

impl DirtyStorage {
    /// What of it is left to be written: another save of the same session may have come first.
    fn still_staged(&self) -> Option<Self> {
        let staged = self.cell.staged().common(&self.staged);
        let cell = self.cell.clone();
        (!staged.is_clean()).then_some(Self { cell, staged })
    }
}

/// The last chance for listeners to change staged items or to veto.
async fn ask_context(context: &Context, cells: &[SharedCell]) -> Result<()> {
    if !context.ambit().bus().has_listeners::<ContextSaving>() {
        return Ok(());
    }
    let dirty = cells.iter().filter(|cell| cell.is_dirty());
    let shown: Vec<(&SharedCell, Vec<NewEntry>)> = dirty
        .map(|cell| (cell, cell.staged().appends.clone()))
        .collect();
    let staged = shown
        .iter()
        .map(|(cell, entries)| (cell.prefix.clone(), restage::bodies(entries)));
    let event = ContextSaving {
        about: context.about(),
        context: context.clone(),
        staged: staged.collect(),
    };
    let event = context.ambit().bus().ask(event).await?;
    for (cell, entries) in shown {
        if let Some(bodies) = event.staged.get(&cell.prefix) {
            restage::restage(context, cell, &entries, bodies)?;
        }
    }
    Ok(())
}

async fn ask_parts(context: &Context, dirty: Vec<SharedCell>) -> Result<Vec<DirtyStorage>> {
    let bus = context.ambit().bus();
    let history = dirty
        .iter()
        .find(|cell| cell.prefix == ChatHistoryStorage::PREFIX);
    if let Some(cell) = history.filter(|_| bus.has_listeners::<ChatHistorySaving>()) {
        let shown = cell.staged().appends.clone();
        let event = ChatHistorySaving {
            about: context.about(),
            storage: cell.prefix.clone(),
            messages: restage::bodies(&shown),
        };
        let event = bus.ask(event).await?;
        restage::restage(context, cell, &shown, &event.messages)?;
    }
    if !context.is_temporary() && bus.has_listeners::<IdentityStorageSaving>() {
        let adding: Vec<SessionIdentity> = dirty.iter().map(|cell| cell.identity.clone()).collect();
        let event = IdentityStorageSaving {
            about: context.about(),
            storage: context.context_identity()?.key(),
            adding,
            removing: Vec::new(),
        };
        bus.ask(event).await?;
    }
    let part = |cell: SharedCell| {
        let staged = cell.staged().clone();
        DirtyStorage { cell, staged }
    };
    Ok(dirty.into_iter().map(part).collect())
}

struct NewIndexRow {
    identity: SessionIdentity,
    id: String,
}

#[derive(Default)]
struct CommitResult {
    /// The identities whose changes are durable.
    parts: Vec<SessionIdentity>,
    rows: Vec<NewIndexRow>,
    /// The sequences of the items added, by prefix.
    sequences: BTreeMap<String, Vec<u64>>,
}

/// Commits store after store, the history's first; what could not be written stays dirty.
async fn write_parts(
    context: &Context,
    parts: &[DirtyStorage],
    written: &mut CommitResult,
) -> Result<()> {
    let mut stores: Vec<Placement> = Vec::new();
    for part in parts {
        if !stores
            .iter()
            .any(|store| store.names() == part.cell.placement.names())
        {
            stores.push(part.cell.placement.clone());
        }
    }
    for (done, store) in stores.iter().enumerate() {
        let of_store: Vec<&DirtyStorage> = parts
            .iter()
            .filter(|part| part.cell.placement.names() == store.names())
            .collect();
        if let Err(error) = write_store(context, store, &of_store, written).await {
            let is_unsure = error.is_failure() || matches!(error, Error::Partial { .. });
            for part in of_store.iter().filter(|_| is_unsure) {
                part.cell.staged().is_doubtful = true;
            }
            let name = |store: &Placement| store.names().join("+");
            let done: Vec<String> = stores[..done].iter().map(name).collect();
            if done.is_empty() {
                return Err(error);
            }
            return Err(Error::Partial {
                done,
                failed: vec![(name(store), error.to_string())],
            });
        }
        for part in of_store {
            part.cell.committed(&part.staged);
            written.parts.push(part.cell.identity.clone());
        }
    }
    Ok(())
}

/// One store's commit: index rows in it if the index is there, else just before it.
async fn write_store(
    context: &Context,
    store: &Placement,
    parts: &[&DirtyStorage],
    written: &mut CommitResult,
) -> Result<()> {
    let session = context.session();
    let index = context.ambit().stores().index()?;
    let mut batch = Batch::default();
    // The lease of a turn is kept with the history: only there can it be judged.
    let has_history = parts
        .iter()
        .any(|part| part.cell.prefix == ChatHistoryStorage::PREFIX);
    batch.checks.extend(session.fence().filter(|_| has_history));
    let row_check = session.row_check().filter(|_| has_history);
    let mut elsewhere = None;
    let tracks = tracks(context, parts);
    if index.names() == store.names() {
        batch.checks.extend(row_check);
        // Rows come first, so that the data's own writes find them.
        batch.writes.extend(tracks);
    } else if !tracks.is_empty() {
        let at = context.ambit().stores().options().clock.now();
        let added = separate_index::track(context, &tracks, row_check).await?;
        written.rows.extend(added);
        elsewhere = Some((tracks, at));
    }
    for part in parts {
        add_part(context, part, &mut batch).await?;
    }
    let writes = batch.writes.clone();
    let outcomes = store.driver().commit(batch).await?;
    if let Some((tracks, at)) = elsewhere {
        separate_index::confirm(context, tracks, at).await?;
    }
    for (write, outcome) in writes.iter().zip(&outcomes) {
        written.rows.extend(new_row(context, write, outcome));
    }
    for part in parts {
        let items = part.cell.space(session.tenant()).log(ITEMS);
        let added = sequences(&items, writes.iter().zip(&outcomes).rev());
        written.sequences.insert(part.cell.prefix.clone(), added);
    }
    Ok(())
}

/// Adds the writes of one storage. A clear takes along what belongs to the data.
async fn add_part(context: &Context, part: &DirtyStorage, batch: &mut Batch) -> Result<()> {
    let (session, clock) = (context.session(), &context.ambit().stores().options().clock);
    let staged = session.seen(part.cell.unwritten(session.tenant(), &part.staged).await)?;
    // A temporary session has no sums that could be carried over.
    if staged.is_clear() && !(session.is_temporary() && part.cell.prefix == UsageStorage::PREFIX) {
        let erasure = Erasure {
            tenant: session.tenant(),
            identity: &part.cell.identity,
            drivers: part.cell.placement.names(),
            action: RemovalAction::Clear,
            on_remove: context.ambit().settings().usage.on_remove,
        };
        let more = erasure.dependent_writes(part.cell.driver()).await;
        batch.writes.extend(session.seen(more)?);
    }
    let (checks, writes) = part.cell.writes(session.tenant(), &staged)?;
    batch.checks.extend(checks);
    batch.writes.extend(writes);
    if session.is_temporary() {
        let life = context.ambit().settings().temporary_life;
        let space = part.cell.space(session.tenant());
        batch
            .writes
            .push(temporary::extend_life(&space, clock, life)?);
    }
    Ok(())
}

/// The sequences that the last append to this log was given.
fn sequences<'a>(
    items: &LogKey,
    mut done: impl Iterator<Item = (&'a BatchWrite, &'a WriteOutcome)>,
) -> Vec<u64> {
    let added = done.find_map(|(write, outcome)| match (write, outcome) {
        (BatchWrite::Append { log, .. }, WriteOutcome::Appended { seqs, .. }) if log == items => {
            Some(seqs.clone())
        }
        _ => None,
    });
    added.unwrap_or_default()
}

/// The index rows that these storages need. A clear of what was never written leaves nothing to track.
fn tracks(context: &Context, parts: &[&DirtyStorage]) -> Vec<BatchWrite> {
    if context.is_temporary() {
        return Vec::new();
    }
    let is_nothing = |staged: &StagedChanges| {
        let clears_nothing = staged
            .basis
            .as_ref()
            .is_some_and(|basis| basis.view.is_none() && basis.items.is_none());
        clears_nothing && staged.appends.is_empty()
    };
    let session = context.session();
    let agents = session.state().touched_as.clone();
    let tracked = parts.iter().filter(|part| !is_nothing(&part.staged));
    let mut tracks = Vec::new();
    for cell in tracked.map(|part| &part.cell) {
        let own = session.track(&cell.identity, &cell.placement);
        let has_touches = cell.prefix == ChatHistoryStorage::PREFIX;
        let others = agents.iter().filter(|_| has_touches);
        let touches = others.map(|agent| TrackRequest {
            agent: agent.clone(),
            ..own.clone()
        });
        let touches: Vec<TrackRequest> = touches.collect();
        tracks.push(own);
        tracks.extend(touches);
    }
    let tracks = tracks.into_iter();
    tracks
        .map(|track| BatchWrite::Track(Box::new(track)))
        .collect()
}

impl Context {
    /// Has the index tell from the next save of the history on that this agent works on the conversation too.
    pub fn touch_as(&self, agent: &str) {
        let mut state = self.session().state();
        state.touched_as.insert(agent.to_owned());
    }
}

/// The row that this write has made, if it was not there; whose id it is, the session remembers.
fn new_row(context: &Context, write: &BatchWrite, outcome: &WriteOutcome) -> Option<NewIndexRow> {
    let (BatchWrite::Track(track), WriteOutcome::Tracked { id, is_new }) = (write, outcome) else {
        return None;
    };
    context.session().tracked(&track.identity, id);
    is_new.then(|| NewIndexRow {
        identity: track.identity.clone(),
        id: id.clone(),
    })
}
