//! A write: the primary judges and commits, the secondaries receive what it then holds.

use super::plan::{BatchPlan, SpacePlan, plan};
use super::tombstone::{self, Tombstone};
use super::{ChainDriver, ChainMember, WritePolicy, copy};
use crate::address::Space;
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::directory::{IndexRow, RowFilter};
use crate::driver::first_row;
use crate::driver::striped_locks::StripedGuard;
use crate::{Error, Result};
use futures::future::join_all;
use std::collections::{BTreeMap, HashSet};

/// What is known of a space's erasures while it is written to.
struct PendingErasure {
    /// Who owed before this write.
    before: HashSet<String>,
    /// The note as it stands.
    tombstone: Tombstone,
}

/// A write that has its turn.
pub(super) struct ChainWrite {
    batch: Batch,
    plan: BatchPlan,
    owed: BTreeMap<Space, PendingErasure>,
    turn: StripedGuard,
}

/// What a secondary did not get, by space, and why.
type DeliveryFailures = BTreeMap<Space, String>;

impl ChainDriver {
    /// Waits for the turn of a write, and reads what has to be known of it.
    pub(super) async fn begin(&self, batch: Batch) -> Result<ChainWrite> {
        let plan = plan(&batch, &self.spaces_of_rows(&batch).await?);
        let turn = self.turns.take(plan.keys()).await;
        let owed = self.prepare(&plan).await?;
        Ok(ChainWrite {
            batch,
            plan,
            owed,
            turn,
        })
    }

    /// Does a write.
    pub(super) async fn finish(self, write: ChainWrite) -> Result<Vec<WriteOutcome>> {
        let ChainWrite {
            batch,
            plan,
            mut owed,
            turn: _turn,
        } = write;
        let outcomes = self.commit_primary(batch, &plan, &mut owed).await?;
        let deliveries = self
            .secondaries
            .iter()
            .map(|to| self.deliver(to, &plan, &owed));
        let missed = join_all(deliveries).await;
        for (space, touched) in plan.iter().filter(|(_, touched)| touched.is_copied()) {
            if let Some(owed) = owed.remove(space) {
                let owing = self.still_owing(space, touched, &owed.before, &missed);
                self.update_tombstone(space, owed.tombstone, owing).await;
            }
        }
        self.judge(&missed).map(|()| outcomes)
    }

    /// The spaces of the rows that the batch deletes, wherever the rows still are.
    async fn spaces_of_rows(&self, batch: &Batch) -> Result<Vec<Space>> {
        let mut spaces = Vec::new();
        for write in &batch.writes {
            let BatchWrite::Untrack { tenant, id } = write else {
                continue;
            };
            let filter = RowFilter {
                id: Some(id.clone()),
                ..RowFilter::tenant(tenant.as_str())
            };
            let mut found = first_row(&*self.primary.driver, &filter).await?;
            for member in &self.secondaries {
                if found.is_none() {
                    found = first_row(&*member.driver, &filter)
                        .await
                        .unwrap_or_default();
                }
            }
            spaces.extend(found.iter().map(IndexRow::space));
        }
        Ok(spaces)
    }

    /// Reads the notes, and gives back to the primary what it lost of that which it is about to judge.
    async fn prepare(&self, plan: &BatchPlan) -> Result<BTreeMap<Space, PendingErasure>> {
        let mut owed = BTreeMap::new();
        for (space, touched) in plan {
            let stone = self.tombstone(space).await?;
            for log in &touched.logs_seen {
                self.refill_log(log, &stone).await?;
            }
            for key in &touched.keys_seen {
                self.refill_value(key, &stone).await?;
            }
            if touched.row_seen {
                self.refill_row(space, &stone).await?;
            }
            let before = stone.owing.clone();
            owed.insert(
                space.clone(),
                PendingErasure {
                    before,
                    tombstone: stone,
                },
            );
        }
        Ok(owed)
    }

    /// Commits the batch together with the notes of what it erases.
    async fn commit_primary(
        &self,
        mut batch: Batch,
        plan: &BatchPlan,
        owed: &mut BTreeMap<Space, PendingErasure>,
    ) -> Result<Vec<WriteOutcome>> {
        let asked = batch.writes.len();
        let names = || self.secondaries.iter().map(|member| member.name.as_str());
        let erased = || plan.iter().filter(|(_, touched)| touched.erases);
        for (space, _) in erased() {
            batch.writes.push(tombstone::note(space, names())?);
        }
        let mut outcomes = self.primary.driver.commit(batch).await?;
        let notes = outcomes.split_off(asked.min(outcomes.len()));
        for ((space, _), noted) in erased().zip(&notes) {
            let owing: HashSet<String> = names().map(str::to_owned).collect();
            self.remember(space, &owing);
            if let Some(owed) = owed.get_mut(space) {
                owed.tombstone = Tombstone {
                    version: tombstone::version_of(Some(noted)),
                    owing,
                };
            }
        }
        Ok(outcomes)
    }

    /// Brings one secondary up to the primary in all that the batch touched.
    async fn deliver(
        &self,
        to: &ChainMember,
        plan: &BatchPlan,
        owed: &BTreeMap<Space, PendingErasure>,
    ) -> DeliveryFailures {
        let mut missed = DeliveryFailures::new();
        let mut is_down = None;
        for (space, touched) in plan.iter().filter(|(_, touched)| touched.is_copied()) {
            if let Some(why) = &is_down {
                missed.insert(space.clone(), String::clone(why));
                continue;
            }
            let owes = owed
                .get(space)
                .is_some_and(|owed| owed.before.contains(&to.name));
            let delivered = self.deliver_space(to, space, touched, owes).await;
            let Err(error) = delivered else {
                continue;
            };
            if matches!(error, Error::Unavailable { .. }) {
                is_down = Some(error.to_string());
            }
            missed.insert(space.clone(), error.to_string());
        }
        missed
    }

    async fn deliver_space(
        &self,
        to: &ChainMember,
        space: &Space,
        touched: &SpacePlan,
        owes: bool,
    ) -> Result<()> {
        let (from, to) = (&*self.primary.driver, &*to.driver);
        if owes || touched.starts_anew {
            return copy::recopy_space(from, to, space).await;
        }
        let drops = touched.dropped.iter().cloned();
        let drops = drops.map(|log| BatchWrite::Drop { log });
        let erasures: Vec<BatchWrite> = touched.wipes.iter().cloned().chain(drops).collect();
        if !erasures.is_empty() {
            to.commit(Batch::of(erasures)).await?;
        }
        for log in &touched.logs {
            copy::log(from, to, log).await?;
        }
        for (log, seqs) in &touched.redacted {
            copy::bodies(from, to, log, seqs).await?;
        }
        for key in &touched.keys {
            copy::value(from, to, key).await?;
        }
        match (touched.row, touched.erases) {
            (true, true) => copy::row_or_none(from, to, space).await,
            (true, false) => copy::row(from, to, space).await,
            (false, _) => Ok(()),
        }
    }

    /// Whose copy of the space must not be believed now. A missed log tells by its head that it is behind; a missed
    /// value or erasure does not.
    fn still_owing(
        &self,
        space: &Space,
        touched: &SpacePlan,
        before: &HashSet<String>,
        missed: &[DeliveryFailures],
    ) -> HashSet<String> {
        let tells_nothing = touched.erases || !touched.keys.is_empty();
        self.secondaries
            .iter()
            .zip(missed)
            .filter(|(member, missed)| {
                missed.contains_key(space) && (tells_nothing || before.contains(&member.name))
            })
            .map(|(member, _)| member.name.clone())
            .collect()
    }

    fn judge(&self, missed: &[DeliveryFailures]) -> Result<()> {
        let mut done = vec![self.primary.name.clone()];
        let mut failed = Vec::new();
        for (member, missed) in self.secondaries.iter().zip(missed) {
            match missed.values().next() {
                Some(why) => failed.push((member.name.clone(), why.clone())),
                None => done.push(member.name.clone()),
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        for (name, why) in &failed {
            tracing::warn!(driver.name = %name, error.message = %why, "a secondary missed a write");
        }
        match self.policy {
            WritePolicy::All => Err(Error::Partial { done, failed }),
            WritePolicy::Primary => {
                self.note_degraded(&failed);
                Ok(())
            }
        }
    }
}
