//! The index rows of a save: in the commit of the data, or just before it where the index is in another store.

use super::Part;
use crate::Result;
use crate::SessionIdentity;
use crate::batch::{Batch, Outcome, Write};
use crate::clock::{Millis, to_millis};
use crate::context::Context;
use crate::storage::Staged;

/// An index row that a commit has made.
pub(super) struct Added {
    pub(super) identity: SessionIdentity,
    pub(super) id: String,
}

/// Rows that were written just before their data.
pub(super) struct Elsewhere {
    tracks: Vec<Write>,
    at: Millis,
}

impl Elsewhere {
    /// Writes the rows to the index; tells which of them are new.
    pub(super) async fn track(context: &Context, tracks: Vec<Write>) -> Result<(Self, Vec<Added>)> {
        let stores = context.ambit().stores();
        let at = stores.options().clock.now();
        let rows = Batch::of(tracks.iter().cloned());
        let outcomes = stores.index()?.driver().commit(rows).await?;
        let added = tracks.iter().zip(&outcomes);
        let added = added.filter_map(|(track, outcome)| new_row(track, outcome));
        let added = added.collect();
        stores.options().fault_points.reach("commit.tracked");
        Ok((Self { tracks, at }, added))
    }

    /// Writes the rows again if so much time went by until their data was there that a patrol may have swept them.
    pub(super) async fn confirm(self, context: &Context) -> Result<()> {
        let stores = context.ambit().stores();
        let passed = stores.options().clock.now().saturating_sub(self.at);
        if passed < to_millis(context.ambit().settings().orphan_life) / 2 {
            return Ok(());
        }
        let rows = Batch::of(self.tracks);
        stores.index()?.driver().commit(rows).await.map(|_| ())
    }
}

/// The index rows that these storages need. A clear of what was never written leaves nothing to track.
pub(super) fn tracks(context: &Context, parts: &[&Part]) -> Vec<Write> {
    if context.is_temporary() {
        return Vec::new();
    }
    let is_nothing = |staged: &Staged| {
        let clears_nothing = staged
            .basis
            .as_ref()
            .is_some_and(|basis| basis.view.is_none() && basis.items.is_none());
        clears_nothing && staged.appends.is_empty()
    };
    let tracked = parts.iter().filter(|part| !is_nothing(&part.staged));
    tracked
        .map(|part| {
            Write::Track(Box::new(
                context
                    .session()
                    .track(&part.cell.identity, &part.cell.placement),
            ))
        })
        .collect()
}

pub(super) fn new_row(write: &Write, outcome: &Outcome) -> Option<Added> {
    match (write, outcome) {
        (Write::Track(track), Outcome::Tracked { id, is_new: true }) => Some(Added {
            identity: track.identity.clone(),
            id: id.clone(),
        }),
        _ => None,
    }
}
