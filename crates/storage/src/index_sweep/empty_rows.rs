//! Rows without data.

use super::{RowOutcome, forget_copies, untouched, untrack};
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::directory::IndexRow;
use crate::driver::{Driver, LogRange, ValuePart, ValueScan};
use crate::lease::{Lease, OnBusy};
use crate::pattern::Pattern;
use crate::session::Ambit;
use crate::{Error, Result};

/// Deletes the row if its storage has no data.
pub(super) async fn sweep(ambit: &Ambit, row: &IndexRow) -> Result<RowOutcome> {
    let placement = ambit.stores().chain(&row.placement)?;
    let (driver, space) = (placement.driver(), row.space());
    if has_data(driver.as_ref(), &space).await? {
        return Ok(RowOutcome::Kept);
    }
    let lease = match Lease::take(driver.clone(), space.lease(), OnBusy::Reject).await {
        Err(Error::Busy { .. }) => return Ok(RowOutcome::Busy),
        lease => lease?,
    };
    let swept = sweep_leased(ambit, row, &lease).await;
    // What the lease leaves in the store goes while it is still held: nobody else's is taken away.
    let space = space.lease().space;
    let forgotten = Batch::of([BatchWrite::Remove { space }]).checking(lease.check());
    let forgotten = driver.commit(forgotten).await;
    lease.release().await?;
    match swept {
        // It was touched, or went with the history that it belongs to.
        Err(Error::Conflict { .. }) => Ok(RowOutcome::Kept),
        swept => forgotten.and(swept),
    }
}

/// The row goes only if nobody has touched it since it was read: every write that makes data touches its row first,
/// in the same commit where that is one store. Where it is another, a writer may be between its two commits; what it
/// has written by the time that the row is gone gets the row back.
async fn sweep_leased(ambit: &Ambit, row: &IndexRow, lease: &Lease) -> Result<RowOutcome> {
    let (placement, index) = (
        ambit.stores().chain(&row.placement)?,
        ambit.stores().index()?,
    );
    let space = row.space();
    let is_here = index.names() == placement.names();
    let mut gone = Batch::of([untrack(row)]).checking(untouched(row));
    if is_here {
        let (log, head) = (space.log(ITEMS), None);
        gone = gone
            .checking(lease.check())
            .checking(BatchCheck::Head { log, head });
    }
    if has_data(placement.driver().as_ref(), &space).await? {
        return Ok(RowOutcome::Kept);
    }
    index.driver().commit(gone).await?;
    let faults = &ambit.stores().options().fault_points;
    faults.reach("patrol.untracked");
    if is_here || !has_data(placement.driver().as_ref(), &space).await? {
        forget_copies(&placement, vec![untrack(row)]).await?;
        return Ok(RowOutcome::Swept);
    }
    let back = BatchWrite::mirror_row(row.clone());
    let back = Batch::of([back]).checking(BatchCheck::Row { space, mark: None });
    index.driver().commit(back).await?;
    Ok(RowOutcome::Kept)
}

/// True where the storage has anything, a cleared log of items included.
async fn has_data(driver: &dyn Driver, space: &Space) -> Result<bool> {
    let page = driver.read(&space.log(ITEMS), LogRange::head()).await?;
    if page.stale_possible {
        let what = format!("the primary that keeps {space}");
        return Err(Error::Unavailable { what, source: None });
    }
    let scan = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    let has_values = !driver.scan(space, &scan).await?.is_empty();
    Ok(page.head.is_some() || has_values || !driver.logs(space).await?.is_empty())
}
