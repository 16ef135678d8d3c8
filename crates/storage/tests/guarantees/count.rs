//! A driver that counts what is asked of it.

use ambit_storage::Result;
use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, ValueEntry, WriteOutcome};
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::{
    DataKind, DataSize, Driver, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
};
use async_trait::async_trait;
use std::sync::{Arc, Mutex};

/// Calls by kind, and what they brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub commits: usize,
    pub reads: usize,
    pub values: usize,
    pub index: usize,
    pub entries_read: usize,
    pub rows_read: usize,
}

pub struct Counting {
    inner: Arc<dyn Driver>,
    calls: Mutex<Calls>,
}

impl Counting {
    pub fn new(inner: Arc<dyn Driver>) -> Arc<Self> {
        let calls = Mutex::default();
        Arc::new(Self { inner, calls })
    }

    /// The calls since this was last asked.
    pub fn take(&self) -> Calls {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    fn note(&self, change: impl FnOnce(&mut Calls)) {
        change(&mut self.calls.lock().unwrap());
    }
}

#[async_trait]
impl Driver for Counting {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        self.note(|calls| calls.commits += 1);
        self.inner.commit(batch).await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        let page = self.inner.read(log, range).await?;
        self.note(|calls| {
            calls.reads += 1;
            calls.entries_read += page.entries.len();
        });
        Ok(page)
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.note(|calls| calls.values += 1);
        self.inner.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.note(|calls| calls.values += 1);
        self.inner.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.note(|calls| calls.reads += 1);
        self.inner.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        let rows = self.inner.identities(filter, page).await?;
        self.note(|calls| {
            calls.index += 1;
            calls.rows_read += rows.len();
        });
        Ok(rows)
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.note(|calls| calls.index += 1);
        self.inner.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.inner.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.inner.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.inner.check().await
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.inner.size().await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.inner.contents(kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
