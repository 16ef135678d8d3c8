//! The process's own memory: tests, temporary sessions, and the reference for the other drivers.

use super::state::StoreContents;
use super::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
    WatchHub,
};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchWrite, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::{Error, Result};
use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::sync::Arc;

/// Opens an empty store; the address is not looked at.
pub fn open(
    _address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let driver: Arc<dyn Driver> = Arc::new(MemoryDriver::new(options));
        Ok(driver)
    })
}

/// The memory driver.
#[derive(Debug)]
pub struct MemoryDriver {
    state: Mutex<Option<StoreContents>>,
    hub: WatchHub,
    options: DriverOptions,
}

impl MemoryDriver {
    /// An empty store.
    pub fn new(options: DriverOptions) -> Self {
        Self {
            state: Mutex::new(Some(StoreContents::default())),
            hub: WatchHub::default(),
            options,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut StoreContents) -> T) -> Result<T> {
        let mut state = self.state.lock();
        let state = state.as_mut();
        let state = state.ok_or_else(|| Error::closed("the memory store"))?;
        Ok(work(state))
    }
}

#[async_trait]
impl Driver for MemoryDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.options.limits)?;
        self.options.fault_points.reach("memory.commit");
        let outcomes = self.with(|state| state.commit(&batch, self.options.clock.now()))??;
        notify(&self.hub, &batch);
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.with(|state| {
            state
                .log(log)
                .map(|log| log.page(range))
                .unwrap_or_default()
        })
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.with(|state| {
            state
                .value(key, self.options.clock.now())
                .map(|stored| stored.entry(part))
        })
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.with(|state| state.scan(space, scan, self.options.clock.now()))
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        let names = |state: &mut StoreContents| {
            state
                .spaces
                .get(space)
                .map(|contents| contents.logs.keys().cloned().collect())
        };
        Ok(self.with(names)?.unwrap_or_default())
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.with(|state| state.identities(filter, page))
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.with(|state| state.count(filter))
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        Ok(self.hub.watch(log))
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.with(|state| state.sweep(limit, self.options.clock.now()))
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.with(|_| Vec::new())
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.with(|_| None)
    }

    async fn contents(&self, _: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.with(|_| None)
    }

    async fn close(&self) -> Result<()> {
        self.hub.close();
        self.state.lock().take();
        Ok(())
    }
}

/// Wakes those who follow what a batch changed.
pub(super) fn notify(hub: &WatchHub, batch: &Batch) {
    for write in &batch.writes {
        match write {
            BatchWrite::Append { log, .. }
            | BatchWrite::Redact { log, .. }
            | BatchWrite::Drop { log } => {
                hub.notify(log);
            }
            BatchWrite::Clear { .. } | BatchWrite::Remove { .. } | BatchWrite::Mirror(_) => {
                hub.notify_all();
            }
            _ => {}
        }
    }
}
