//! A driver in one file, as a third party would write it: readers share a snapshot and never wait for a writer, and a
//! writer puts the next snapshot in its place. What a batch means comes from the crate's public [`StoreContents`].

use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, ValueEntry, WriteOutcome};
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, StoreContents,
    ValuePart, ValueScan, WatchHub,
};
use ambit_storage::{Error, Result};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub fn open(
    _address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    let driver = SnapshotDriver {
        snapshot: Mutex::new(Some(Arc::default())),
        hub: WatchHub::default(),
        options,
    };
    Box::pin(async move { Ok(Arc::new(driver) as Arc<dyn Driver>) })
}

struct SnapshotDriver {
    /// What readers see; `None` once the driver is closed.
    snapshot: Mutex<Option<Arc<StoreContents>>>,
    hub: WatchHub,
    options: DriverOptions,
}

impl SnapshotDriver {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<StoreContents>>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.options.clock.now()
    }

    fn seen(&self) -> Result<Arc<StoreContents>> {
        self.lock().clone().ok_or_else(closed)
    }

    /// Works on a copy, which replaces the snapshot if the work succeeds.
    fn change<T>(&self, work: impl FnOnce(&mut StoreContents) -> Result<T>) -> Result<T> {
        let mut snapshot = self.lock();
        let mut next = snapshot.as_deref().ok_or_else(closed)?.clone();
        let result = work(&mut next)?;
        *snapshot = Some(Arc::new(next));
        Ok(result)
    }
}

fn closed() -> Error {
    Error::Unavailable {
        what: "the snapshot store (it was closed)".to_owned(),
        source: None,
    }
}

#[async_trait]
impl Driver for SnapshotDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.options.limits)?;
        self.options.fault_points.reach("snapshot.commit");
        let outcomes = self.change(|state| state.commit(&batch, self.now()))?;
        self.hub.notify_all();
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        let state = self.seen()?;
        Ok(state
            .log(log)
            .map_or_else(LogPage::default, |log| log.page(range)))
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        let state = self.seen()?;
        Ok(state.value(key, self.now()).map(|value| value.entry(part)))
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        Ok(self.seen()?.scan(space, scan, self.now()))
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        let state = self.seen()?;
        let names = state.spaces.get(space).map(|contents| contents.logs.keys());
        Ok(names.into_iter().flatten().cloned().collect())
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        Ok(self.seen()?.identities(filter, page))
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        Ok(self.seen()?.count(filter))
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        Ok(self.hub.watch(log))
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.change(|state| Ok(state.sweep(limit, self.now())))
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.seen().map(|_| Vec::new())
    }

    fn kind(&self) -> &'static str {
        "snapshot"
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.seen().map(|_| None)
    }

    async fn contents(&self, _: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.seen().map(|_| None)
    }

    async fn close(&self) -> Result<()> {
        self.hub.close();
        self.lock().take();
        Ok(())
    }
}
