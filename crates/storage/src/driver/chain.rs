//! Several drivers as one. The first is the primary: it alone judges checks and operations, and its answer counts.
//! The others, the secondaries, receive what it then holds (see `copy`), so that repeating a copy is always safe.
//!
//! What a write erases is noted in the primary's own commit (see `tombstone`) until every secondary has erased it too;
//! while the note stands, nothing in a secondary that it names is believed. Leases stay in the primary: nobody else
//! may judge them. Writers of one space in this process take turns; those of other processes are told apart by the
//! heads and versions that a copy expects.

pub(crate) mod compare;
pub(crate) mod copy;
mod plan;
mod read_repair;
mod reader;
mod repair;
mod tombstone;
mod writer;

pub use repair::RepairReport;

use super::striped_locks::StripedLocks;
use super::{DataKind, DataSize, Driver, LogPage, LogRange, LogWatch, ValuePart, ValueScan};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::debug::opaque_debug;
use crate::detach_on_drop::DetachOnDrop;
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::{Error, Result};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tracing::Instrument;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritePolicy {
    /// When every driver has it; else `Partial`.
    #[default]
    All,
    /// When the primary has it; what the others miss is told by `degraded` and repaired later.
    Primary,
}

/// Several drivers as one. The clones share everything.
#[derive(Clone)]
pub struct ChainDriver {
    primary: ChainMember,
    secondaries: Vec<ChainMember>,
    policy: WritePolicy,
    turns: Arc<StripedLocks>,
    degraded: Arc<Mutex<Vec<(String, String)>>>,
    /// Who missed an erasure, as far as this process knows: the primary that has the notes may be down.
    owing: Arc<Mutex<HashMap<Space, HashSet<String>>>>,
}

#[derive(Clone)]
struct ChainMember {
    name: String,
    driver: Arc<dyn Driver>,
}

impl ChainDriver {
    /// A chain of these drivers, the primary first.
    pub fn new(drivers: Vec<(String, Arc<dyn Driver>)>, policy: WritePolicy) -> Result<Self> {
        let mut seen = HashSet::new();
        if let Some((twice, _)) = drivers.iter().find(|(name, _)| !seen.insert(name.clone())) {
            let reason = format!("\"{twice}\" is named twice; a chain has each driver once");
            return Err(Error::invalid("drivers", reason));
        }
        let mut members = drivers
            .into_iter()
            .map(|(name, driver)| ChainMember { name, driver });
        let Some(primary) = members.next() else {
            let reason = "is empty; name at least one driver, the primary first";
            return Err(Error::invalid("drivers", reason));
        };
        Ok(Self {
            primary,
            secondaries: members.collect(),
            policy,
            turns: Arc::default(),
            degraded: Arc::default(),
            owing: Arc::default(),
        })
    }

    /// The names of the drivers, the primary first: the placement of what is written here.
    pub fn names(&self) -> Vec<String> {
        self.members().map(|member| member.name.clone()).collect()
    }

    /// What secondaries missed since this was last asked, by driver, and why.
    pub fn degraded(&self) -> Vec<(String, String)> {
        let mut degraded = self.degraded.lock();
        std::mem::take(&mut *degraded)
    }

    /// Waits for the writes that have begun.
    pub(crate) async fn settle(&self) {
        self.turns.settle().await;
    }

    fn members(&self) -> impl Iterator<Item = &ChainMember> {
        std::iter::once(&self.primary).chain(&self.secondaries)
    }

    fn note_degraded(&self, missed: &[(String, String)]) {
        let mut degraded = self.degraded.lock();
        degraded.extend_from_slice(missed);
        // Nobody may be asking; the latest are the ones that say how things stand.
        let surplus = degraded.len().saturating_sub(DEGRADED_KEPT);
        degraded.drain(..surplus);
    }
}

/// So many misses are remembered for `degraded`.
const DEGRADED_KEPT: usize = 1_000;

#[async_trait]
impl Driver for ChainDriver {
    /// What has begun goes on when its caller leaves: a secondary would miss what the primary has.
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        if self.secondaries.is_empty() {
            return self.primary.driver.commit(batch).await;
        }
        let write = self.begin(batch).await?;
        let work = self.clone().finish(write);
        DetachOnDrop::new(work.in_current_span()).await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.read_log(log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.read_value(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.scan_values(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.list_logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.list_rows(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.count_rows(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.primary.driver.watch(log).await
    }

    /// The number is the primary's; secondaries erase what expired there.
    async fn sweep(&self, limit: usize) -> Result<u64> {
        let erased = self.primary.driver.sweep(limit).await?;
        for member in &self.secondaries {
            if let Err(error) = member.driver.sweep(limit).await {
                tracing::warn!(driver.name = %member.name, error.message = %error, "a secondary was not swept");
            }
        }
        Ok(erased)
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.compare().await
    }

    fn kind(&self) -> &'static str {
        "chain"
    }

    async fn size(&self) -> Result<Option<u64>> {
        let mut bytes = 0;
        for member in self.members() {
            let Some(size) = member.driver.size().await? else {
                return Ok(None);
            };
            bytes += size;
        }
        Ok(Some(bytes))
    }

    async fn contents(&self, _: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        Ok(None)
    }

    /// Closes every driver of the chain, and tells the first failure.
    async fn close(&self) -> Result<()> {
        let mut closed = Ok(());
        for member in self.members() {
            closed = closed.and(member.driver.close().await);
        }
        closed
    }
}

opaque_debug!(ChainDriver, |this| drivers: this.names(), policy: this.policy);
