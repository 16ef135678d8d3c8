//! A memory driver that fails on demand.

use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, ValueEntry, WriteOutcome};
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
};
use ambit_storage::{Error, Result};
use async_trait::async_trait;
use std::sync::Mutex;
use tokio::sync::watch;

/// What fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    Nothing,
    /// Everything: it cannot be reached.
    Down,
    /// Writes, before anything is written.
    Writes,
    /// Writes, after they were carried out: the answer is lost.
    Answers,
    /// Nothing, but writes wait until another fault is told.
    Held,
}

pub struct Flaky {
    inner: Mutex<std::sync::Arc<MemoryDriver>>,
    fault: watch::Sender<Fault>,
}

impl Flaky {
    pub fn new() -> Self {
        Self {
            inner: Mutex::new(std::sync::Arc::new(MemoryDriver::new(
                DriverOptions::default(),
            ))),
            fault: watch::Sender::default(),
        }
    }

    pub fn fails(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Loses all data, and all numbers with it.
    pub fn lose(&self) {
        *self.inner.lock().unwrap() =
            std::sync::Arc::new(MemoryDriver::new(DriverOptions::default()));
    }

    fn reached(&self, failing: &[Fault]) -> Result<std::sync::Arc<MemoryDriver>> {
        if failing.contains(&*self.fault.borrow()) {
            return Err(Error::Unavailable {
                what: "the flaky store".to_owned(),
                source: None,
            });
        }
        Ok(self.inner.lock().unwrap().clone())
    }
}

#[async_trait]
impl Driver for Flaky {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let mut fault = self.fault.subscribe();
        // Who tells it is here for as long.
        drop(fault.wait_for(|fault| *fault != Fault::Held).await);
        let done = self
            .reached(&[Fault::Down, Fault::Writes])?
            .commit(batch)
            .await?;
        self.reached(&[Fault::Answers]).map(|_| done)
    }
    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.reached(&[Fault::Down])?.read(log, range).await
    }
    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.reached(&[Fault::Down])?.get(key, part).await
    }
    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.reached(&[Fault::Down])?.scan(space, scan).await
    }
    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.reached(&[Fault::Down])?.logs(space).await
    }
    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.reached(&[Fault::Down])?.identities(filter, page).await
    }
    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.reached(&[Fault::Down])?.count(filter).await
    }
    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.reached(&[Fault::Down])?.watch(log).await
    }
    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.reached(&[Fault::Down])?.sweep(limit).await
    }
    async fn check(&self) -> Result<Vec<String>> {
        self.reached(&[Fault::Down])?.check().await
    }

    fn kind(&self) -> &'static str {
        "memory"
    }
    async fn size(&self) -> Result<Option<u64>> {
        self.reached(&[Fault::Down])?.size().await
    }
    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.reached(&[Fault::Down])?.contents(kinds).await
    }

    /// Takes no more writes. What it has can still be looked at, as that of a store on a disk.
    async fn close(&self) -> Result<()> {
        self.reached(&[Fault::Down])?;
        self.fails(Fault::Writes);
        Ok(())
    }
}
