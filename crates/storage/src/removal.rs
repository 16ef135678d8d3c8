//! Clearing and removing what is stored, whoever asks: one context, or many sessions found in the index.

mod context;
mod events;

use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::directory::{IndexRow, RowFilter};
use crate::driver::{Driver, FaultPoints, LogRange, RowPages, ValuePart, ValueScan};
use crate::erasure::{Erasure, RemovalAction};
use crate::kind::StorageKind;
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::pattern::Pattern;
use crate::report::BulkReport;
use crate::session::{Ambit, UsageStorage};
use crate::{Error, Result};
use futures::future::BoxFuture;
use std::collections::HashMap;

/// An erasure is tried again so often when others write at the same time.
const TRIES: usize = 16;

/// How a bulk operation goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemovalPlan<'a> {
    pub(crate) action: RemovalAction,
    /// The agent whose sessions were asked for; else it is the one that made the row.
    pub(crate) agent: Option<&'a str>,
    /// Nothing is changed.
    pub(crate) is_dry: bool,
    /// Usage that is wider than its session is left alone.
    pub(crate) spares_wider_usage: bool,
}

impl BulkReport {
    /// Acts on one identity of many, and tells its events. A history takes the row of its memory along.
    pub(crate) async fn act(
        &mut self,
        ambit: &Ambit,
        row: &IndexRow,
        memory: Option<&String>,
        plan: RemovalPlan<'_>,
    ) {
        let identity = row.identity.clone();
        self.name_others(row, plan.agent.unwrap_or(identity.agent_name()));
        if plan.spares_wider_usage && is_wider_usage(row) {
            return self.skip_wider(identity);
        }
        let result = match plan.action {
            action if plan.is_dry => would_erase(ambit, row, action).await,
            action => events::erase(ambit, row, memory, action).await,
        };
        self.add(identity, result);
    }
}

/// The rows of memories in the index by storage key, for all histories that a filter may find.
pub(crate) async fn memories(ambit: &Ambit, filter: &RowFilter) -> Result<HashMap<String, String>> {
    let filter = RowFilter {
        tenant: Some(ambit.caller().tenant().to_owned()),
        agent: filter.agent.clone(),
        user: filter.user.clone(),
        chat: filter.chat.clone(),
        group: filter.group.clone(),
        scope: Some(memory::SCOPE.to_owned()),
        ..RowFilter::default()
    };
    let index = ambit.stores().index()?;
    let mut found = HashMap::new();
    let mut pages = RowPages::of(index.driver().as_ref(), filter);
    while let Some(rows) = pages.next().await? {
        let named = |row: IndexRow| (row.identity.storage_key(), row.id);
        found.extend(rows.into_iter().map(named));
    }
    Ok(found)
}

/// Usage that is booked under another identity than those of the sessions that book it.
fn is_wider_usage(row: &IndexRow) -> bool {
    let is_usage = row.identity.scope() == Some(UsageStorage::PREFIX);
    is_usage
        && row
            .touches
            .iter()
            .any(|touch| !touch.base.same_storage(&row.identity.base()))
}

async fn would_erase(ambit: &Ambit, row: &IndexRow, action: RemovalAction) -> Result<bool> {
    if action == RemovalAction::Remove {
        return Ok(true);
    }
    let driver = ambit.stores().chain(&row.placement)?;
    holds_something(driver.driver().as_ref(), &row.space()).await
}

async fn holds_something(driver: &dyn Driver, space: &Space) -> Result<bool> {
    let head = driver.read(&space.log(ITEMS), LogRange::head()).await?.head;
    let scan = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    Ok(head.is_some_and(|head| head.last > 0) || !driver.scan(space, &scan).await?.is_empty())
}

/// Erases one stored identity, of which no move is left unfinished, on every driver on record, under its lease. True
/// where something changed.
fn erase<'a>(
    ambit: &'a Ambit,
    row: &'a IndexRow,
    memory: Option<&'a String>,
    action: RemovalAction,
) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        let placement = ambit.stores().chain(&row.placement)?;
        let (driver, index) = (placement.driver(), ambit.stores().index()?);
        let rows = match action {
            RemovalAction::Clear => Vec::new(),
            RemovalAction::Remove => untrack(row, memory),
        };
        // Only one driver erases data and rows at once. Elsewhere the rows go last, so that what could not be erased
        // everywhere stays tracked.
        let is_one = placement.names().len() == 1 && index.names() == placement.names();
        let (with_data, after_data) = if is_one {
            (rows, Vec::new())
        } else {
            (Vec::new(), rows)
        };
        let key = row.space().lease();
        let lease = Lease::take(driver.clone(), key, OnBusy::Reject).await?;
        let work = LeasedErasure {
            driver: driver.as_ref(),
            erasure: Erasure {
                tenant: &row.tenant,
                identity: &row.identity,
                drivers: placement.names(),
                action,
                on_remove: ambit.settings().usage.on_remove,
            },
            untracking: with_data,
            lease: &lease,
        };
        let fault_points = &ambit.stores().options().fault_points;
        let erased = work.commit(fault_points).await;
        if erased.is_err()
            && let Err(error) = lease.release().await
        {
            tracing::warn!(session.key = %row.identity.key(), error.message = %error, "a lease was not given back; it ends by itself");
        }
        let had_something = erased?;
        fault_points.reach("removal.erased");
        if action == RemovalAction::Clear {
            return Ok(had_something);
        }
        if placement.names().len() > 1 {
            // A chain has copied the row along with the data.
            driver.commit(Batch::of(after_data.iter().cloned())).await?;
        }
        if index.names() != placement.names() {
            index.driver().commit(Batch::of(after_data)).await?;
        }
        Ok(true)
    })
}

/// The erasure of a stored identity whose lease is held.
struct LeasedErasure<'a> {
    driver: &'a dyn Driver,
    erasure: Erasure<'a>,
    /// The removal of its rows, where that goes with the data.
    untracking: Vec<BatchWrite>,
    lease: &'a Lease,
}

impl LeasedErasure<'_> {
    /// Erases it. What others add meanwhile without a lease, as plain appends do, goes too. True where there was something.
    async fn commit(&self, fault_points: &FaultPoints) -> Result<bool> {
        let mut tries = 0;
        loop {
            tries += 1;
            let space = Space::of(self.erasure.tenant, self.erasure.identity);
            let had_something = holds_something(self.driver, &space).await?;
            let batch = self.batch(&space).await?;
            fault_points.reach("removal.read");
            match self.driver.commit(batch).await {
                Err(Error::Conflict { .. }) if tries < TRIES => {}
                done => return done.map(|_| had_something),
            }
        }
    }

    /// The batch that erases what is there now.
    async fn batch(&self, space: &Space) -> Result<Batch> {
        let (action, lease) = (self.erasure.action, self.lease);
        let items = space.log(ITEMS);
        let head = self.driver.read(&items, LogRange::head()).await?.head;
        let mut writes = vec![action.on(space.clone())];
        writes.extend(self.erasure.dependent_writes(self.driver).await?);
        writes.extend(self.untracking.iter().cloned());
        // The lease ends with the same write: killed behind it, nobody has to wait, and nothing of the session is left.
        match action {
            RemovalAction::Clear => writes.extend(lease.end()),
            RemovalAction::Remove => writes.push(BatchWrite::Remove {
                space: space.lease().space,
            }),
        }
        let checks = vec![lease.check(), BatchCheck::head(items, head)];
        Ok(Batch { checks, writes })
    }
}

fn untrack(row: &IndexRow, memory: Option<&String>) -> Vec<BatchWrite> {
    let ids = std::iter::once(&row.id).chain(memory);
    let untrack = |id: &String| BatchWrite::untrack(row.tenant.clone(), id.clone());
    ids.map(untrack).collect()
}
