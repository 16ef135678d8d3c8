//! Storages that were idle for longer than they are kept.

use super::{RowOutcome, forget_copies, untouched, untrack};
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::Millis;
use crate::directory::{IndexRow, RowFilter};
use crate::driver::{LogRange, ValuePart, first_row};
use crate::erasure::{Erasure, RemovalAction};
use crate::identity::SessionIdentity;
use crate::kind::StorageKind;
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::session::{Ambit, ChatHistoryStorage};
use crate::{Error, Result};

/// Removes an idle storage with what belongs to it, unless it is used meanwhile.
pub(super) async fn retire(
    ambit: &Ambit,
    row: &IndexRow,
    used_before: Millis,
) -> Result<RowOutcome> {
    if is_in_turn(ambit, row).await? {
        return Ok(RowOutcome::Busy);
    }
    let mut idle = IdleStorage {
        ambit,
        row,
        guards: vec![untouched(row)],
        rows: vec![untrack(row)],
    };
    if row.identity.scope() == Some(ChatHistoryStorage::PREFIX) {
        let identity = row.identity.with_scope(memory::SCOPE)?;
        let memory = row_of(ambit, row, &identity).await?;
        let is_used = |memory: &IndexRow| memory.last_used_at() > used_before;
        if memory.as_ref().is_some_and(is_used) {
            return Ok(RowOutcome::Kept);
        }
        idle.guards.push(BatchCheck::row(
            Space::of(&row.tenant, &identity),
            memory.as_ref().map(IndexRow::mark),
        ));
        idle.rows.extend(memory.as_ref().map(untrack));
    }
    ambit.stores().options().fault_points.reach("patrol.idle");
    match idle.remove().await {
        Ok(()) => Ok(RowOutcome::Retired),
        Err(Error::Busy { .. } | Error::Conflict { .. }) => Ok(RowOutcome::Busy),
        Err(error) => Err(error),
    }
}

/// A storage that nobody uses.
struct IdleStorage<'a> {
    ambit: &'a Ambit,
    row: &'a IndexRow,
    /// Nobody has touched these rows since they were seen.
    guards: Vec<BatchCheck>,
    /// The deletions of its rows.
    rows: Vec<BatchWrite>,
}

impl IdleStorage<'_> {
    async fn remove(self) -> Result<()> {
        let placement = self.ambit.stores().chain(&self.row.placement)?;
        let key = Space::of(&self.row.tenant, &self.row.identity).lease();
        let lease = Lease::take(placement.driver().clone(), key, OnBusy::Reject).await?;
        let removed = self.erase(&lease).await;
        lease.release().await?;
        removed
    }

    /// Data goes first where rows are elsewhere, so that what could not be erased stays tracked. Somebody who writes
    /// meanwhile touches the row, then moves the head: whichever of both comes too late is seen.
    async fn erase(self, lease: &Lease) -> Result<()> {
        let stores = self.ambit.stores();
        let (placement, index) = (stores.chain(&self.row.placement)?, stores.index()?);
        let (driver, identity) = (placement.driver().as_ref(), &self.row.identity);
        let space = Space::of(&self.row.tenant, identity);
        let log = space.log(ITEMS);
        let head = driver.read(&log, LogRange::head()).await?.head;
        let erasure = Erasure {
            tenant: &self.row.tenant,
            identity,
            drivers: placement.names(),
            action: RemovalAction::Remove,
            on_remove: self.ambit.settings().usage.on_remove,
        };
        let mut writes = erasure.dependent_writes(driver).await?;
        writes.retain(|write| !matches!(write, BatchWrite::Untrack { .. }));
        let left = [space.lease().space, space];
        writes.extend(left.map(|space| BatchWrite::Remove { space }));
        let mut data = Batch {
            checks: vec![lease.check(), BatchCheck::Head { log, head }],
            writes,
        };
        let rows = Batch {
            checks: self.guards.clone(),
            writes: self.rows,
        };
        // Only one driver erases data and rows at once.
        if placement.names().len() == 1 && index.names() == placement.names() {
            data.checks.extend(rows.checks);
            data.writes.extend(rows.writes);
            return driver.commit(data).await.map(|_| ());
        }
        let judged = Batch {
            checks: self.guards,
            writes: Vec::new(),
        };
        index.driver().commit(judged).await?;
        driver.commit(data).await?;
        let copies = rows.writes.clone();
        index.driver().commit(rows).await?;
        forget_copies(&placement, copies).await
    }
}

/// True while a turn runs in the conversation that the storage belongs to.
async fn is_in_turn(ambit: &Ambit, row: &IndexRow) -> Result<bool> {
    let history = row.identity.with_scope(ChatHistoryStorage::PREFIX)?;
    let Some(history) = row_of(ambit, row, &history).await? else {
        return Ok(false);
    };
    let placement = ambit.stores().chain(&history.placement)?;
    let lease = history.space().lease();
    let held = placement.driver().get(&lease, ValuePart::Nothing).await?;
    Ok(held.is_some())
}

/// The row of an identity beside this one.
async fn row_of(
    ambit: &Ambit,
    beside: &IndexRow,
    identity: &SessionIdentity,
) -> Result<Option<IndexRow>> {
    let filter = RowFilter::space(&Space::of(&beside.tenant, identity));
    first_row(ambit.stores().index()?.driver().as_ref(), &filter).await
}
