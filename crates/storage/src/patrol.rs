//! The patrol over the index: removes storages that were idle for longer than they are kept, and sweeps rows whose
//! storage has no data. It walks over all rows, whoever's they are, in steps of bounded size, and looks at each alone.
//!
//! A row without data is left by a first commit that was killed between two stores, and by values that have expired.
//! Whoever opens its storage finds it absent, as if the row were not there.

use crate::address::{ITEMS, Space};
use crate::ambit::Ambit;
use crate::batch::{Batch, Check, Mirror, Write};
use crate::caller::Caller;
use crate::clock::{Millis, to_millis};
use crate::directory::{Filter, Order, PageRequest, Position, Tracked};
use crate::driver::{Driver, Part, Range, Scan};
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::pattern::Pattern;
use crate::removal::{self, Action, row_of, untrack};
use crate::storage::{ChatHistoryStorage, StorageKind};
use crate::{Error, Result};

/// What steps of a patrol have done. Numbers only: the identities may be of any tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patrolled {
    /// Rows looked at.
    pub rows: u64,
    /// Storages removed because they were idle for longer than they are kept.
    pub retired: u64,
    /// Rows deleted because their storage had no data.
    pub swept: u64,
    /// Left alone because somebody was at work on them.
    pub busy: u64,
    /// Left as they were because a store failed; logged, and tried again by the next patrol.
    pub failed: u64,
}

/// What became of one row.
enum Fate {
    Kept,
    Retired,
    Swept,
    Busy,
}

/// A walk over all rows of the index.
#[derive(Debug)]
pub struct Patrol {
    ambit: Ambit,
    after: Option<Position>,
}

impl Patrol {
    pub(crate) fn new(ambit: Ambit) -> Self {
        Self { ambit, after: None }
    }

    /// Looks at the next rows, at most `limit`; `None` at the end, after which it begins anew.
    pub async fn step(&mut self, limit: usize) -> Result<Option<Patrolled>> {
        let page = PageRequest {
            order: Order::Oldest,
            after: self.after.take(),
            limit: limit.max(1),
        };
        let index = self.ambit.stores().index()?;
        let rows = index.driver().identities(&Filter::default(), &page).await?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        self.after = Some(last.position());
        let mut done = Patrolled::default();
        for row in &rows {
            done.rows += 1;
            match self.look(row).await {
                Ok(Fate::Kept) => {}
                Ok(Fate::Retired) => done.retired += 1,
                Ok(Fate::Swept) => done.swept += 1,
                Ok(Fate::Busy) => done.busy += 1,
                Err(error) => {
                    done.failed += 1;
                    tracing::warn!(error.message = %error, row.id = %row.id, "a row of the index was left as it was");
                }
            }
        }
        Ok(Some(done))
    }

    async fn look(&self, row: &Tracked) -> Result<Fate> {
        let ambit = self.ambit.acting_as(&Caller::system(row.tenant.as_str()));
        let settings = ambit.settings();
        let now = ambit.stores().options().clock.now();
        let idle = now.saturating_sub(row.last_used_at());
        if let Some(life) = settings.retention.life(row.identity.scope())
            && idle >= life
        {
            return retire(&ambit, row, now - life).await;
        }
        if row.generation == 0 && idle >= to_millis(settings.orphan_life) {
            return sweep(&ambit, row).await;
        }
        Ok(Fate::Kept)
    }
}

impl Patrolled {
    /// Adds what another step has done.
    pub(crate) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.retired += other.retired;
        self.swept += other.swept;
        self.busy += other.busy;
        self.failed += other.failed;
    }
}

/// Removes an idle storage, unless it is used meanwhile.
async fn retire(ambit: &Ambit, row: &Tracked, used_before: Millis) -> Result<Fate> {
    if is_in_turn(ambit, row).await? {
        return Ok(Fate::Busy);
    }
    let mut guards = vec![untouched(row)];
    if row.identity.scope() == Some(ChatHistoryStorage::PREFIX) {
        let identity = row.identity.with_scope(memory::SCOPE)?;
        let memory = row_of(ambit, &identity).await?;
        let is_used = |memory: &Tracked| memory.last_used_at() > used_before;
        if memory.as_ref().is_some_and(is_used) {
            return Ok(Fate::Kept);
        }
        guards.push(Check::Row {
            space: Space::of(&row.tenant, &identity),
            mark: memory.as_ref().map(Tracked::mark),
        });
    }
    let faults = &ambit.stores().options().fault_points;
    faults.reach("patrol.idle");
    match removal::erase(ambit, row, Action::Remove, &guards).await {
        Ok(_) => Ok(Fate::Retired),
        Err(Error::Busy { .. } | Error::Conflict { .. }) => Ok(Fate::Busy),
        Err(error) => Err(error),
    }
}

/// True while a turn runs in the conversation that the storage belongs to.
async fn is_in_turn(ambit: &Ambit, row: &Tracked) -> Result<bool> {
    let history = row.identity.with_scope(ChatHistoryStorage::PREFIX)?;
    let Some(history) = row_of(ambit, &history).await? else {
        return Ok(false);
    };
    let placement = ambit.stores().chain(&history.placement)?;
    let lease = Space::of(&history.tenant, &history.identity).lease();
    let held = placement.driver().get(&lease, Part::Nothing).await?;
    Ok(held.is_some())
}

/// Deletes the row if its storage has no data.
async fn sweep(ambit: &Ambit, row: &Tracked) -> Result<Fate> {
    let placement = ambit.stores().chain(&row.placement)?;
    let (driver, space) = (placement.driver(), Space::of(&row.tenant, &row.identity));
    if has_data(driver.as_ref(), &space).await? {
        return Ok(Fate::Kept);
    }
    let lease = match Lease::take(driver.clone(), space.lease(), OnBusy::Reject).await {
        Err(Error::Busy { .. }) => return Ok(Fate::Busy),
        lease => lease?,
    };
    let swept = sweep_leased(ambit, row, &lease).await;
    let forgotten = removal::forget_lease(driver.as_ref(), &space, &lease).await;
    lease.release().await?;
    match swept {
        // It was touched, or went with the history that it belongs to.
        Err(Error::Conflict { .. }) => Ok(Fate::Kept),
        swept => forgotten.and(swept),
    }
}

/// The row goes only if nobody has touched it since it was read: every write that makes data touches its row first,
/// in the same commit where that is one store. Where it is another, a writer may be between its two commits; what it
/// has written by the time that the row is gone gets the row back.
async fn sweep_leased(ambit: &Ambit, row: &Tracked, lease: &Lease) -> Result<Fate> {
    let (placement, index) = (
        ambit.stores().chain(&row.placement)?,
        ambit.stores().index()?,
    );
    let space = Space::of(&row.tenant, &row.identity);
    let is_here = index.names() == placement.names();
    let mut gone = Batch::of([untrack(row)]).checking(untouched(row));
    if is_here {
        let (log, head) = (space.log(ITEMS), None);
        gone = gone
            .checking(lease.check())
            .checking(Check::Head { log, head });
    }
    if has_data(placement.driver().as_ref(), &space).await? {
        return Ok(Fate::Kept);
    }
    index.driver().commit(gone).await?;
    let faults = &ambit.stores().options().fault_points;
    faults.reach("patrol.untracked");
    if is_here || !has_data(placement.driver().as_ref(), &space).await? {
        return Ok(Fate::Swept);
    }
    let back = Write::Mirror(Mirror::Row(Box::new(row.clone())));
    let back = Batch::of([back]).checking(Check::Row { space, mark: None });
    index.driver().commit(back).await?;
    Ok(Fate::Kept)
}

/// The condition that nobody has used a storage since its row was read.
fn untouched(row: &Tracked) -> Check {
    Check::Row {
        space: Space::of(&row.tenant, &row.identity),
        mark: Some(row.mark()),
    }
}

/// True where the storage has anything, a cleared log of items included.
async fn has_data(driver: &dyn Driver, space: &Space) -> Result<bool> {
    let page = driver.read(&space.log(ITEMS), Range::head()).await?;
    if page.stale_possible {
        let what = format!("the primary that keeps {space}");
        return Err(Error::Unavailable { what, source: None });
    }
    let scan = Scan {
        pattern: Pattern::all(),
        after: None,
        limit: 1,
        part: Part::Nothing,
    };
    let has_values = !driver.scan(space, &scan).await?.is_empty();
    Ok(page.head.is_some() || has_values || !driver.logs(space).await?.is_empty())
}
