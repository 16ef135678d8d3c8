//! Moving a stored identity from one driver, or chain of drivers, to another.
//!
//! A note in the index says what is on its way, so that a move that was killed can be told from a finished one and goes
//! on when it is repeated:
//!
//! | the index row names | so | repeating or giving up |
//! |---|---|---|
//! | the old drivers | the old copy counts, a new one is being made | erases what there is of the new copy |
//! | `moving from … to …` | the old copy counts, nobody may write | the same, and the row names the old drivers again |
//! | the new drivers | the new copy counts | erases the old copy |
//!
//! The long copy is made while others write. Only for the rest, and for comparing both, the row names drivers that no
//! writer has, which every store refuses. A save that had its index row in another store written just before that and
//! comes to its data later is found when the old copy is erased: what it appended is appended to the new copy as well.

mod plan;
mod record;

use crate::batch::{Batch, BatchWrite};
use crate::directory::{IndexRow, RowFilter};
use crate::driver::first_row;
use crate::identity::SessionIdentity;
use crate::kind::StorageKind;
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::session::{Ambit, UsageStorage};
use crate::stores::MEMORY;
use crate::{Error, Result};
use futures::future::BoxFuture;
use plan::RelocationPlan;
use record::RelocationRecord;
pub(crate) use record::{forget, open_moves, usage_placements};

/// What a move did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelocationReport {
    /// What was moved.
    pub identity: SessionIdentity,
    /// The drivers that held it.
    pub from: Vec<String>,
    /// The drivers that hold it now.
    pub to: Vec<String>,
}

/// Moves the identity with this row id to these drivers, the primary first; a history takes its memory along. Waits
/// for the session's lease and holds it. Killed and repeated, it ends in the same state as an undisturbed move.
pub async fn relocate<S: AsRef<str>>(
    ambit: &Ambit,
    id: &str,
    to: &[S],
) -> Result<RelocationReport> {
    let row = row_with(ambit, id).await?;
    let to = ambit.stores().chain(to)?.names().to_vec();
    check_target(ambit, &row, &to).await?;
    let row = finish_interrupted(ambit, &row, OnBusy::Queue).await?;
    let relocated = RelocationReport {
        identity: row.identity.clone(),
        from: row.placement.clone(),
        to: to.clone(),
    };
    if row.placement == to {
        return Ok(relocated);
    }
    let note = RelocationRecord::new(&row.placement, &to);
    let goods = RelocationPlan::of(ambit, &row, &note)?;
    let lease = Lease::take(goods.lease_driver(), goods.lease_key(), OnBusy::Queue).await?;
    let moved = move_data(ambit, &row, &goods, note, &lease).await;
    let released = lease.release().await;
    if let Err(error) = moved {
        // Said again by the next attempt, and by `doctor`, if it cannot be undone now.
        if let Err(left) = finish_interrupted(ambit, &row, OnBusy::Reject).await {
            tracing::warn!(error.message = %left, row.id = %row.id, "a failed move is not undone yet");
        }
        return Err(error);
    }
    released?;
    goods.forget_lease().await?;
    Ok(relocated)
}

/// The row as it is once a move of it that was interrupted is finished or undone; most rows have none.
pub(crate) fn finish_interrupted<'a>(
    ambit: &'a Ambit,
    row: &'a IndexRow,
    on_busy: OnBusy,
) -> BoxFuture<'a, Result<IndexRow>> {
    Box::pin(async move {
        let Some(note) = RelocationRecord::read(ambit, row).await? else {
            return Ok(row.clone());
        };
        let goods = RelocationPlan::of(ambit, row, &note)?;
        let lease = Lease::take(goods.lease_driver(), goods.lease_key(), on_busy).await?;
        let settled = resume(ambit, &row.id, &goods, &lease).await;
        lease.release().await?;
        let row = settled?;
        if row.placement == note.to {
            goods.forget_lease().await?;
        }
        Ok(row)
    })
}

async fn resume(
    ambit: &Ambit,
    id: &str,
    goods: &RelocationPlan,
    lease: &Lease,
) -> Result<IndexRow> {
    let mut row = row_with(ambit, id).await?;
    // Whoever held the lease before may have ended the move.
    let Some(note) = RelocationRecord::read(ambit, &row).await? else {
        return Ok(row);
    };
    if row.placement == note.to {
        goods.erase_old(&note, lease).await?;
    } else {
        goods.erase_new().await?;
        goods.place(ambit, &row, &note.from, Vec::new()).await?;
        row.placement.clone_from(&note.from);
    }
    record::forget(ambit, &row.id).await?;
    Ok(row)
}

fn move_data<'a>(
    ambit: &'a Ambit,
    row: &'a IndexRow,
    goods: &'a RelocationPlan,
    mut note: RelocationRecord,
    lease: &'a Lease,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let faults = &ambit.stores().options().fault_points;
        goods.check_room().await?;
        let index = ambit.stores().index()?;
        index
            .driver()
            .commit(Batch::of([note.write(&row.id)?]))
            .await?;
        faults.reach("move.noted");
        goods.copy().await?;
        faults.reach("move.copied");
        let nowhere = [note.in_words()];
        goods.place(ambit, row, &nowhere, Vec::new()).await?;
        faults.reach("move.frozen");
        goods.catch_up().await?;
        note.heads = goods.heads().await?;
        let mut along: Vec<BatchWrite> = vec![note.write(&row.id)?];
        along.extend(record::remember_usage(row, &note.to)?);
        goods.place(ambit, row, &note.to, along).await?;
        faults.reach("move.switched");
        goods.erase_old(&note, lease).await?;
        faults.reach("move.erased");
        record::forget(ambit, &row.id).await
    })
}

/// Refuses what would lose or double something.
async fn check_target(ambit: &Ambit, row: &IndexRow, to: &[String]) -> Result<()> {
    if row.identity.scope() == Some(memory::SCOPE) {
        let reason =
            "is a conversation's memory, which moves along with its history; name the id of that";
        return Err(Error::invalid(format!("the storage {}", row.id), reason));
    }
    if to.iter().any(|name| name == MEMORY) {
        let reason = "names \"memory\", which ends with this process; name a driver that lasts";
        return Err(Error::invalid("to", reason));
    }
    if row.identity.scope() != Some(UsageStorage::PREFIX) {
        return Ok(());
    }
    // Sums are added up over primaries: one that holds another's copies would count them twice.
    for known in usage_placements(ambit).await? {
        let is_copy = known[1..].contains(&to[0]) || to[1..].contains(&known[0]);
        if is_copy && known != *to {
            let reason = format!(
                "{} would mix usage with the copies that {} keeps; name a driver outside of it",
                to.join(", "),
                known.join(", ")
            );
            return Err(Error::invalid("to", reason));
        }
    }
    Ok(())
}

/// The row with this id, if the caller may see it.
async fn row_with(ambit: &Ambit, id: &str) -> Result<IndexRow> {
    let filter = ambit.caller().narrow(RowFilter::id(id));
    let found = first_row(ambit.stores().index()?.driver().as_ref(), &filter).await?;
    found.ok_or_else(|| Error::not_found("context", id))
}
