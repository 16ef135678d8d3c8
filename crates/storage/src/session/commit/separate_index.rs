//! The index rows of a save whose data is in another store: written just before it.

use super::{NewIndexRow, new_row};
use crate::Result;
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::{Millis, to_millis};
use crate::session::context::Context;

/// Writes the rows to the index, under a condition if there is one; tells which of them are new.
pub(super) async fn track(
    context: &Context,
    tracks: &[BatchWrite],
    check: Option<BatchCheck>,
) -> Result<Vec<NewIndexRow>> {
    let stores = context.ambit().stores();
    let mut rows = Batch::of(tracks.iter().cloned());
    rows.checks.extend(check);
    let outcomes = stores.index()?.driver().commit(rows).await?;
    stores.options().fault_points.reach("commit.tracked");
    let done = tracks.iter().zip(&outcomes);
    let added = done.filter_map(|(track, outcome)| new_row(context, track, outcome));
    Ok(added.collect())
}

/// Writes the rows again if so much time went by until their data was there that a patrol may have swept them.
pub(super) async fn confirm(context: &Context, tracks: Vec<BatchWrite>, at: Millis) -> Result<()> {
    let stores = context.ambit().stores();
    let passed = stores.options().clock.now().saturating_sub(at);
    if passed < to_millis(context.ambit().settings().orphan_life) / 2 {
        return Ok(());
    }
    let rows = Batch::of(tracks);
    stores.index()?.driver().commit(rows).await.map(|_| ())
}
