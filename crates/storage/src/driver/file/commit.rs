//! A commit: what the batch touches is loaded, `StoreContents` judges and changes it, and what differs is written.

use super::counter::CommitCounter;
use super::folder::{self, COUNTER, ROWS, StoreFolder};
use super::redo::{self, FileChange};
use super::{FileDriverInner, format};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite, WriteOutcome};
use crate::driver::memory;
use crate::driver::state::{IndexContents, SpaceContents, StoreContents};
use std::collections::BTreeSet;

/// What a batch looks at or changes.
#[derive(Default)]
struct BatchFootprint {
    spaces: BTreeSet<Space>,
    /// Index rows, by the space they belong to.
    rows: BTreeSet<Space>,
    /// Index rows whose space is not known: tenant and id.
    ids: BTreeSet<(String, String)>,
}

/// The batch whole, or nothing and the reason. The caller holds the lock alone.
pub fn commit(shared: &FileDriverInner, batch: &Batch) -> Result<Vec<WriteOutcome>> {
    let folder = &shared.folder;
    let counter = CommitCounter::read(folder)?;
    let touched = touched(folder, batch)?;
    let mut state = load(folder, &touched, counter)?;
    let (spaces, rows) = (state.spaces.clone(), state.rows.clone());
    let outcomes = state.commit(batch, shared.options.clock.now())?;
    let mut changes = Vec::new();
    for space in &touched.spaces {
        changes.extend(space_change(space, spaces.get(space), &state)?);
    }
    for space in &touched.rows {
        let find = |rows: &IndexContents| rows.by_storage_key(&space.tenant, &space.path).cloned();
        let (before, after) = (find(&rows), find(&state.rows));
        if before != after {
            changes.push(FileChange {
                file: folder::row_file(space),
                text: after.as_ref().map(format::row_text).transpose()?,
            });
        }
    }
    write(shared, changes, counter, state.clock)?;
    memory::notify(&shared.hub, batch);
    Ok(outcomes)
}

/// Erases expired values of one space, at most `limit`. The caller holds the lock alone.
pub fn sweep(shared: &FileDriverInner, space: &Space, limit: usize) -> Result<u64> {
    let Some(contents) = format::read_space(&shared.folder, space)? else {
        return Ok(0);
    };
    let mut state = StoreContents::default();
    state.spaces.insert(space.clone(), contents.clone());
    let erased = state.sweep(limit, shared.options.clock.now());
    let changes = space_change(space, Some(&contents), &state)?;
    let counter = CommitCounter::read(&shared.folder)?;
    write(shared, changes.into_iter().collect(), counter, counter.last)?;
    Ok(erased)
}

fn space_change(
    space: &Space,
    before: Option<&SpaceContents>,
    state: &StoreContents,
) -> Result<Option<FileChange>> {
    let after = state.spaces.get(space);
    if before == after {
        return Ok(None);
    }
    let text = after.map(|contents| format::space_text(space, contents));
    Ok(Some(FileChange {
        file: folder::space_file(space),
        text: text.transpose()?,
    }))
}

/// The counter's file comes last, so that those who watch it find the rest in place.
fn write(
    shared: &FileDriverInner,
    mut changes: Vec<FileChange>,
    counter: CommitCounter,
    last: u64,
) -> Result<()> {
    // A number can be given out and leave nothing behind: a lease taken and released in one batch.
    if changes.is_empty() && last == counter.last {
        return Ok(());
    }
    let counter = CommitCounter {
        last,
        commits: counter.commits + 1,
    };
    changes.push(FileChange {
        file: COUNTER.to_owned(),
        text: Some(counter.text()),
    });
    redo::write(&shared.folder, &changes, &shared.options.fault_points)
}

fn load(
    folder: &StoreFolder,
    touched: &BatchFootprint,
    counter: CommitCounter,
) -> Result<StoreContents> {
    let mut state = StoreContents {
        clock: counter.last,
        ..StoreContents::default()
    };
    for space in &touched.spaces {
        if let Some(contents) = format::read_space(folder, space)? {
            state.spaces.insert(space.clone(), contents);
        }
    }
    for space in &touched.rows {
        if let Some(row) = format::read_row_file(folder, &folder::row_file(space))? {
            state.rows.insert(row);
        }
    }
    Ok(state)
}

fn touched(folder: &StoreFolder, batch: &Batch) -> Result<BatchFootprint> {
    let mut touched = BatchFootprint::default();
    for check in &batch.checks {
        let space = match check {
            BatchCheck::Head { log, .. } => &log.space,
            BatchCheck::Version { key, .. } | BatchCheck::Lease { key, .. } => &key.space,
            BatchCheck::Row { space, .. } | BatchCheck::RowId { space, .. } => {
                touched.rows.insert(space.clone());
                continue;
            }
        };
        touched.spaces.insert(space.clone());
    }
    batch.writes.iter().for_each(|write| touched.note(write));
    let ordinals = new_ordinals(folder, batch)?;
    if touched.ids.is_empty() && ordinals.is_empty() {
        return Ok(touched);
    }
    for file in folder.files(ROWS)? {
        // A damaged row is not found by its id; whoever names its storage is told.
        let Ok(Some(row)) = format::read_row_file(folder, &file?) else {
            continue;
        };
        let space = row.space();
        if ordinals.contains(&row.ordinal) || touched.ids.contains(&(row.tenant, row.id)) {
            touched.rows.insert(space);
        }
    }
    Ok(touched)
}

/// The ordinals that rows of other stores bring along, where they may be taken here.
fn new_ordinals(folder: &StoreFolder, batch: &Batch) -> Result<BTreeSet<u64>> {
    let mut ordinals = BTreeSet::new();
    for write in &batch.writes {
        let BatchWrite::Mirror(MirrorWrite::Row(row)) = write else {
            continue;
        };
        let file = folder::row_file(&row.space());
        let twin = format::read_row_file(folder, &file)?;
        if twin.is_none_or(|twin| twin.ordinal != row.ordinal) {
            ordinals.insert(row.ordinal);
        }
    }
    Ok(ordinals)
}

impl BatchFootprint {
    fn note(&mut self, write: &BatchWrite) {
        match write {
            BatchWrite::Append { log, .. } => {
                self.spaces.insert(log.space.clone());
                if log.name == ITEMS {
                    self.rows.insert(log.space.clone());
                }
            }
            BatchWrite::Redact { log, .. }
            | BatchWrite::Drop { log }
            | BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => {
                self.spaces.insert(log.space.clone());
            }
            BatchWrite::Apply { key, .. } | BatchWrite::Mirror(MirrorWrite::Value { key, .. }) => {
                self.spaces.insert(key.space.clone());
            }
            BatchWrite::Wipe { space, .. }
            | BatchWrite::Clear { space }
            | BatchWrite::Remove { space } => {
                self.spaces.insert(space.clone());
            }
            BatchWrite::Track(track) => {
                self.rows.insert(track.space());
            }
            BatchWrite::Mirror(MirrorWrite::Row(row)) => {
                self.rows.insert(row.space());
            }
            BatchWrite::Untrack { tenant, id } => {
                self.ids.insert((tenant.clone(), id.clone()));
            }
        }
    }
}
