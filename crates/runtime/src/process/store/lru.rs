//! A store in this process's memory that holds so many values and no more: what was used least recently makes room.

use ambit_storage::Result;
use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, ValueEntry, WriteOutcome};
use ambit_storage::clock::Millis;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
    memory,
};
use ambit_storage::operation::Operation;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio::sync::Mutex;

/// The store.
pub struct LruDriver {
    inner: memory::MemoryDriver,
    size: usize,
    options: DriverOptions,
    used: Mutex<RecencyIndex>,
}

/// When each value was used last, and when it ends.
#[derive(Default)]
struct RecencyIndex {
    now: u64,
    values: HashMap<ValueKey, (u64, Option<Millis>)>,
    order: BTreeMap<u64, ValueKey>,
    ends: BTreeSet<(Millis, ValueKey)>,
}

impl LruDriver {
    /// An empty store of this size.
    pub fn new(size: usize, options: DriverOptions) -> Self {
        Self {
            inner: memory::MemoryDriver::new(options.clone()),
            size,
            options,
            used: Mutex::default(),
        }
    }

    /// Notes what a write has left of a value.
    async fn note(&self, used: &mut RecencyIndex, key: &ValueKey) -> Result<()> {
        match self.inner.get(key, ValuePart::Nothing).await? {
            Some(entry) => used.touch(key, entry.expires_at),
            None => used.forget(key),
        }
        Ok(())
    }

    async fn make_room(&self, used: &mut RecencyIndex) -> Result<()> {
        let now = self.options.clock.now();
        while used.values.len() > self.size {
            let Some(key) = used.least(now) else { break };
            used.forget(&key);
            let op = Operation::Del;
            let write = BatchWrite::Apply {
                key,
                op,
                life: None,
            };
            self.inner.commit(Batch::of([write])).await?;
        }
        Ok(())
    }
}

impl RecencyIndex {
    fn touch(&mut self, key: &ValueKey, ends: Option<Millis>) {
        self.forget(key);
        self.now += 1;
        self.values.insert(key.clone(), (self.now, ends));
        self.order.insert(self.now, key.clone());
        self.ends.extend(ends.map(|ends| (ends, key.clone())));
    }

    fn forget(&mut self, key: &ValueKey) {
        if let Some((at, ends)) = self.values.remove(key) {
            self.order.remove(&at);
            if let Some(ends) = ends {
                self.ends.remove(&(ends, key.clone()));
            }
        }
    }

    /// What goes first: a value that has ended, else the one used least recently.
    fn least(&self, now: Millis) -> Option<ValueKey> {
        let ended = self.ends.first().filter(|(ends, _)| *ends <= now);
        let oldest = || self.order.first_key_value().map(|(_, key)| key);
        ended.map(|(_, key)| key).or_else(oldest).cloned()
    }
}

#[async_trait]
impl Driver for LruDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let mut used = self.used.lock().await;
        let mut keys = Vec::new();
        for write in &batch.writes {
            match write {
                BatchWrite::Apply { key, .. } => keys.push(key.clone()),
                _ => keys.extend(used.values.keys().cloned()),
            }
        }
        let outcomes = self.inner.commit(batch).await?;
        for key in &keys {
            self.note(&mut used, key).await?;
        }
        self.make_room(&mut used).await?;
        Ok(outcomes)
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        let mut used = self.used.lock().await;
        let entry = self.inner.get(key, part).await?;
        if let Some(entry) = &entry {
            used.touch(key, entry.expires_at);
        }
        Ok(entry)
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.inner.read(log, range).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.inner.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.inner.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.inner.identities(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use ambit_storage::clock::Clock;
    use ambit_storage::memory::{Memory, MemorySettings, Ttl};
    use std::sync::Arc;
    use std::time::Duration;

    fn of_two(clock: &Clock) -> Memory {
        let options = DriverOptions {
            clock: clock.clone(),
            ..DriverOptions::default()
        };
        Memory::store(
            Arc::new(LruDriver::new(2, options)),
            "s",
            MemorySettings::default(),
        )
        .unwrap()
    }

    #[tokio::test]
    async fn what_was_used_least_recently_makes_room() {
        let store = of_two(&Clock::default());
        store.set("a", &1, None).await.unwrap();
        store.set("b", &2, None).await.unwrap();
        store.get("a").await.unwrap();
        store.push("c", &3).await.unwrap();
        assert_eq!(store.keys(None).await.unwrap(), ["a", "c"]);
        store.del("a*").await.unwrap();
        store.incr("d", 1.0).await.unwrap();
        assert_eq!(store.keys(None).await.unwrap(), ["c", "d"]);
        store.clear().await.unwrap();
        store.set("e", &1, None).await.unwrap();
        store.set("f", &1, None).await.unwrap();
        assert_eq!(store.keys(None).await.unwrap(), ["e", "f"]);
    }

    #[tokio::test]
    async fn what_has_ended_makes_room_before_anything_else() {
        let clock = Clock::default();
        let store = of_two(&clock);
        store.set("kept", &1, None).await.unwrap();
        let second = Some(Ttl::seconds(1.0).unwrap());
        store.set("ends", &2, second).await.unwrap();
        clock.advance(Duration::from_secs(1));
        store.set("new", &3, None).await.unwrap();
        assert_eq!(store.keys(None).await.unwrap(), ["kept", "new"]);
    }
}
