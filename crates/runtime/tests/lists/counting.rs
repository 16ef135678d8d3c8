//! A driver that counts what is asked of the one behind it.

use ambit_storage::Result;
use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, ValueEntry, WriteOutcome};
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::{
    DataKind, DataSize, Driver, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
};
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What was asked of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadCounts {
    /// Reads of logs.
    pub reads: u64,
    /// Pages of rows.
    pub pages: u64,
    /// Scans of values of conversations.
    pub scans: u64,
}

pub struct Counting {
    behind: Arc<dyn Driver>,
    reads: AtomicU64,
    pages: AtomicU64,
    scans: AtomicU64,
    written: Mutex<Vec<String>>,
}

impl Counting {
    pub fn new(behind: Arc<dyn Driver>) -> Self {
        Self {
            behind,
            reads: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            scans: AtomicU64::new(0),
            written: Mutex::new(Vec::new()),
        }
    }

    pub fn counts(&self) -> ReadCounts {
        ReadCounts {
            reads: self.reads.load(Ordering::SeqCst),
            pages: self.pages.load(Ordering::SeqCst),
            scans: self.scans.load(Ordering::SeqCst),
        }
    }

    /// What was written since this was asked last.
    pub fn written(&self) -> Vec<String> {
        std::mem::take(&mut *self.written.lock().unwrap())
    }
}

#[async_trait]
impl Driver for Counting {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let writes = batch.writes.iter().map(|write| format!("{write:?}"));
        self.written.lock().unwrap().extend(writes);
        self.behind.commit(batch).await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.behind.read(log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.behind.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        let is_conversation = space.path.starts_with("a:");
        self.scans
            .fetch_add(u64::from(is_conversation), Ordering::SeqCst);
        self.behind.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.behind.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.behind.identities(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.behind.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.behind.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.behind.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.behind.check().await
    }

    fn kind(&self) -> &'static str {
        self.behind.kind()
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.behind.size().await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.behind.contents(kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.behind.close().await
    }
}
