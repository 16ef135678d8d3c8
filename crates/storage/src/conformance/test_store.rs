//! A store as the cases see it.

use super::DriverFixture;
use super::steps::*;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchWrite, Head, ValueEntry, WriteOutcome};
use crate::clock::Clock;
use crate::directory::{IndexRow, PageRequest, RowFilter, RowOrder};
use crate::driver::{Driver, LogPage, LogRange, ValuePart};
use crate::operation::{Operation, OperationOutput};
use crate::{Result, SessionIdentity};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// One handle on the store of a case, and the fixture that opens more of them.
#[derive(Clone)]
pub(super) struct TestStore {
    pub(super) fixture: Arc<dyn DriverFixture>,
    pub(super) driver: Arc<dyn Driver>,
}

impl Deref for TestStore {
    type Target = dyn Driver;

    fn deref(&self) -> &Self::Target {
        self.driver.as_ref()
    }
}

impl TestStore {
    pub(super) async fn of(fixture: Arc<dyn DriverFixture>) -> Self {
        let driver = fixture.open().await;
        Self { fixture, driver }
    }

    /// A further handle.
    pub(super) async fn open(&self) -> Self {
        Self::of(self.fixture.clone()).await
    }

    /// Ends this handle, then opens another one.
    pub(super) async fn reopened(self) -> Self {
        let Self { fixture, driver } = self;
        must(driver.close().await);
        drop(driver);
        Self::of(fixture).await
    }

    pub(super) fn clock(&self) -> Clock {
        self.fixture.clock()
    }

    /// Commits one write; its outcome or its error.
    pub(super) async fn attempt(&self, write: BatchWrite) -> Result<WriteOutcome> {
        let outcomes = self.driver.commit(Batch::of([write])).await?;
        assert_eq!(outcomes.len(), 1, "one write has one outcome: {outcomes:?}");
        Ok(some(outcomes.into_iter().next()))
    }

    /// Commits one write that has to succeed.
    pub(super) async fn write(&self, write: BatchWrite) -> WriteOutcome {
        must(self.attempt(write).await)
    }

    pub(super) async fn append(&self, log: &LogKey, entries: &[(&str, &str)]) -> WriteOutcome {
        self.write(append(log, entries)).await
    }

    /// Does one operation that has to succeed; its answer.
    pub(super) async fn act(&self, key: &ValueKey, op: Operation) -> OperationOutput {
        output(self.write(apply(key, op)).await)
    }

    /// Does one operation on a value that is there afterwards; its version.
    pub(super) async fn version_after(&self, key: &ValueKey, op: Operation) -> u64 {
        match self.write(apply(key, op)).await {
            WriteOutcome::Applied {
                version: Some(version),
                ..
            } => version,
            other => panic!("{other:?} has no version"),
        }
    }

    /// Takes a lease that has to be free; its epoch.
    pub(super) async fn grant(&self, key: &ValueKey, holder: &str, life: Duration) -> u64 {
        match output(self.write(apply_for(key, acquire(holder), life)).await) {
            OperationOutput::Epoch(epoch) => epoch,
            other => panic!("{other:?} is no epoch"),
        }
    }

    pub(super) async fn page(&self, log: &LogKey) -> LogPage {
        must(self.driver.read(log, LogRange::from(1, MANY)).await)
    }

    pub(super) async fn head(&self, log: &LogKey) -> Option<Head> {
        must(self.driver.read(log, LogRange::head()).await).head
    }

    /// Sequence, id and body of each entry of a log.
    pub(super) async fn entries(&self, log: &LogKey) -> Vec<(u64, String, String)> {
        told(self.page(log).await)
    }

    pub(super) async fn value(&self, key: &ValueKey) -> Option<ValueEntry> {
        must(self.driver.get(key, ValuePart::Whole).await)
    }

    /// The text of a value, if there is one.
    pub(super) async fn text(&self, key: &ValueKey) -> Option<String> {
        self.value(key)
            .await
            .map(|entry| entry.value.as_str().to_owned())
    }

    /// Names and texts of the values of a space that match.
    pub(super) async fn values(&self, space: &Space, pattern: &str) -> Vec<(String, String)> {
        let found = must(self.driver.scan(space, &scan(pattern, MANY)).await);
        found
            .into_iter()
            .map(|(name, entry)| (name, entry.value.as_str().to_owned()))
            .collect()
    }

    /// The rows that a filter wants, in this order.
    pub(super) async fn rows(&self, filter: &RowFilter, order: RowOrder) -> Vec<IndexRow> {
        let page = PageRequest {
            order,
            ..PageRequest::first(MANY)
        };
        must(self.driver.identities(filter, &page).await)
    }

    /// The row of an identity of the default tenant.
    pub(super) async fn row(&self, identity: &SessionIdentity) -> Option<IndexRow> {
        let found = self.rows(&row_filter(identity), RowOrder::Oldest).await;
        found.into_iter().next_back()
    }

    pub(super) async fn snapshot(&self, space: &Space) -> SpaceSnapshot {
        let mut logs = Vec::new();
        for name in self.log_names(space).await {
            let page = self.page(&space.log(name.as_str())).await;
            logs.push((name, page));
        }
        let filter = RowFilter {
            storage_key: Some(space.path.clone()),
            ..RowFilter::tenant(space.tenant.as_str())
        };
        SpaceSnapshot {
            logs,
            values: must(self.driver.scan(space, &scan("*", MANY)).await),
            rows: self.rows(&filter, RowOrder::Oldest).await,
        }
    }

    pub(super) async fn log_names(&self, space: &Space) -> Vec<String> {
        let mut names = must(self.driver.logs(space).await);
        names.sort();
        names
    }
}

/// All that a store says about one space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpaceSnapshot {
    pub(super) logs: Vec<(String, LogPage)>,
    values: Vec<(String, ValueEntry)>,
    rows: Vec<IndexRow>,
}
