//! What is counted of the commits of one store: how they end and how long they take.

use super::{DataKind, DataSize, Driver, LogPage, LogRange, LogWatch, ValuePart, ValueScan};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::time_counts::TimeCounts;
use crate::{Error, Result};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// What was counted of a store's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitCounts {
    /// How many are under way or wait.
    pub under_way: u64,
    /// How many have ended in which way.
    pub results: BTreeMap<CommitOutcome, u64>,
    /// How long they took.
    pub times: TimeCounts,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitOutcome {
    /// It is written.
    Ok,
    /// A check, a value, another holder or a limit refused it.
    Conflict,
    /// The writer's lease has passed on.
    Fenced,
    /// Some stores of a chain have it and some have not.
    Partial,
    /// The store could not be reached, or failed in its own way.
    Unavailable,
}

impl CommitOutcome {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Conflict => "conflict",
            Self::Fenced => "fenced",
            Self::Partial => "partial",
            Self::Unavailable => "unavailable",
        }
    }

    fn of<T>(written: &Result<T>) -> Self {
        match written {
            Ok(_) => Self::Ok,
            Err(Error::Fenced { .. }) => Self::Fenced,
            Err(Error::Partial { .. }) => Self::Partial,
            Err(Error::Unavailable { .. } | Error::Corrupt { .. } | Error::Internal { .. }) => {
                Self::Unavailable
            }
            Err(
                Error::Invalid { .. }
                | Error::Refused { .. }
                | Error::NotFound { .. }
                | Error::Denied { .. }
                | Error::Vetoed { .. }
                | Error::Conflict { .. }
                | Error::Busy { .. }
                | Error::Limited { .. },
            ) => Self::Conflict,
        }
    }
}

/// A driver whose commits are counted.
pub(crate) struct CountedDriver {
    driver: Arc<dyn Driver>,
    counts: Mutex<CommitCounts>,
}

impl CountedDriver {
    pub fn new(driver: Arc<dyn Driver>) -> Arc<Self> {
        let counts = Mutex::default();
        Arc::new(Self { driver, counts })
    }

    /// What has been counted so far.
    pub fn counts(&self) -> CommitCounts {
        self.counts.lock().clone()
    }
}

/// A commit that is under way, until this is dropped.
struct RunningCommit<'a>(&'a CountedDriver);

impl<'a> RunningCommit<'a> {
    fn begin(driver: &'a CountedDriver) -> Self {
        driver.counts.lock().under_way += 1;
        Self(driver)
    }
}

impl Drop for RunningCommit<'_> {
    fn drop(&mut self) {
        self.0.counts.lock().under_way -= 1;
    }
}

#[async_trait]
impl Driver for CountedDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let began = Instant::now();
        let _running = RunningCommit::begin(self);
        let written = self.driver.commit(batch).await;
        let mut counts = self.counts.lock();
        *counts
            .results
            .entry(CommitOutcome::of(&written))
            .or_default() += 1;
        counts.times.add(began.elapsed());
        drop(counts);
        written
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.driver.read(log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.driver.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.driver.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.driver.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.driver.identities(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.driver.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.driver.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.driver.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.driver.check().await
    }

    fn kind(&self) -> &'static str {
        self.driver.kind()
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.driver.size().await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.driver.contents(kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.driver.close().await
    }
}
