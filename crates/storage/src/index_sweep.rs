//! The patrol over the index: removes storages that were idle for longer than they are kept, and sweeps rows whose
//! storage has no data. It walks over all rows, whoever's they are, in steps of bounded size, and looks at each alone.
//!
//! A row without data is left by a first commit that was killed between two stores, and by values that have expired.
//! Whoever opens its storage finds it absent, as if the row were not there.

mod empty_rows;
mod idle_storages;

use crate::Result;
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::caller::Caller;
use crate::clock::to_millis;
use crate::directory::{IndexRow, PageRequest, RowFilter, RowPosition};
use crate::session::Ambit;
use crate::stores::Placement;
use empty_rows::sweep;
use idle_storages::retire;

/// What steps of a patrol have done. Numbers only: the identities may be of any tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSweepReport {
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
enum RowOutcome {
    Kept,
    Retired,
    Swept,
    Busy,
}

/// A walk over all rows of the index.
#[derive(Debug)]
pub struct IndexSweep {
    ambit: Ambit,
    after: Option<RowPosition>,
}

impl Ambit {
    /// A walk over the index that removes what was idle for too long and rows without data.
    pub fn index_sweep(&self) -> IndexSweep {
        IndexSweep {
            ambit: self.clone(),
            after: None,
        }
    }
}

impl IndexSweep {
    /// Looks at the next rows, at most `limit`; `None` at the end, after which it begins anew.
    pub async fn step(&mut self, limit: usize) -> Result<Option<IndexSweepReport>> {
        let page = PageRequest {
            after: self.after.take(),
            ..PageRequest::first(limit.max(1))
        };
        let index = self.ambit.stores().index()?;
        let rows = index
            .driver()
            .identities(&RowFilter::default(), &page)
            .await?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        self.after = Some(last.position());
        let mut done = IndexSweepReport::default();
        for row in &rows {
            done.rows += 1;
            match self.process_row(row).await {
                Ok(RowOutcome::Kept) => {}
                Ok(RowOutcome::Retired) => done.retired += 1,
                Ok(RowOutcome::Swept) => done.swept += 1,
                Ok(RowOutcome::Busy) => done.busy += 1,
                Err(error) => {
                    done.failed += 1;
                    tracing::warn!(error.message = %error, row.id = %row.id, "a row of the index was left as it was");
                }
            }
        }
        Ok(Some(done))
    }

    async fn process_row(&self, row: &IndexRow) -> Result<RowOutcome> {
        let ambit = self.ambit.acting_as(&Caller::system(row.tenant.as_str()));
        let settings = ambit.settings();
        let now = ambit.stores().options().clock.now();
        let idle = now.saturating_sub(row.last_used_at());
        if let Some(life) = settings.retention.life_of(&row.identity)
            && idle >= life
        {
            return retire(&ambit, row, now - life).await;
        }
        if row.generation == 0 && idle >= to_millis(settings.orphan_life) {
            return sweep(&ambit, row).await;
        }
        Ok(RowOutcome::Kept)
    }
}

impl IndexSweepReport {
    /// Adds what another step has done.
    pub(crate) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.retired += other.retired;
        self.swept += other.swept;
        self.busy += other.busy;
        self.failed += other.failed;
    }
}

/// The condition that nobody has used a storage since its row was read.
fn untouched(row: &IndexRow) -> BatchCheck {
    BatchCheck::row(row.space(), Some(row.mark()))
}

fn untrack(row: &IndexRow) -> BatchWrite {
    BatchWrite::untrack(row.tenant.clone(), row.id.clone())
}

/// Deletes rows that a chain has copied to its drivers along with the data.
async fn forget_copies(placement: &Placement, rows: Vec<BatchWrite>) -> Result<()> {
    if placement.names().len() > 1 {
        placement.driver().commit(Batch::of(rows)).await?;
    }
    Ok(())
}
