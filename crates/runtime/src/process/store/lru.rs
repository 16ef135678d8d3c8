//! A store in this process's memory that holds so many values and no more: what was used least recently makes room.

use ambit_storage::Result;
use ambit_storage::address::{Key, LogKey, Space};
use ambit_storage::batch::{Batch, Entry, Outcome, Write};
use ambit_storage::clock::Millis;
use ambit_storage::directory::{Filter, PageRequest, Tracked};
use ambit_storage::driver::{Driver, Options, Page, Part, Range, Scan, Watch, memory};
use ambit_storage::op::Op;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio::sync::Mutex;

/// The store.
pub struct Lru {
    inner: memory::Memory,
    size: usize,
    options: Options,
    used: Mutex<Used>,
}

/// When each value was used last, and when it ends.
#[derive(Default)]
struct Used {
    now: u64,
    values: HashMap<Key, (u64, Option<Millis>)>,
    order: BTreeMap<u64, Key>,
    ends: BTreeSet<(Millis, Key)>,
}

impl Lru {
    /// An empty store of this size.
    pub fn new(size: usize, options: Options) -> Self {
        Self {
            inner: memory::Memory::new(options.clone()),
            size,
            options,
            used: Mutex::default(),
        }
    }

    /// Notes what a write has left of a value.
    async fn note(&self, used: &mut Used, key: &Key) -> Result<()> {
        match self.inner.get(key, Part::Nothing).await? {
            Some(entry) => used.touch(key, entry.expires_at),
            None => used.forget(key),
        }
        Ok(())
    }

    async fn make_room(&self, used: &mut Used) -> Result<()> {
        let now = self.options.clock.now();
        while used.values.len() > self.size {
            let Some(key) = used.least(now) else { break };
            used.forget(&key);
            let op = Op::Del;
            let write = Write::Apply {
                key,
                op,
                life: None,
            };
            self.inner.commit(Batch::of([write])).await?;
        }
        Ok(())
    }
}

impl Used {
    fn touch(&mut self, key: &Key, ends: Option<Millis>) {
        self.forget(key);
        self.now += 1;
        self.values.insert(key.clone(), (self.now, ends));
        self.order.insert(self.now, key.clone());
        self.ends.extend(ends.map(|ends| (ends, key.clone())));
    }

    fn forget(&mut self, key: &Key) {
        if let Some((at, ends)) = self.values.remove(key) {
            self.order.remove(&at);
            if let Some(ends) = ends {
                self.ends.remove(&(ends, key.clone()));
            }
        }
    }

    /// What goes first: a value that has ended, else the one used least recently.
    fn least(&self, now: Millis) -> Option<Key> {
        let ended = self.ends.first().filter(|(ends, _)| *ends <= now);
        let oldest = || self.order.first_key_value().map(|(_, key)| key);
        ended.map(|(_, key)| key).or_else(oldest).cloned()
    }
}

#[async_trait]
impl Driver for Lru {
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>> {
        let mut used = self.used.lock().await;
        let mut keys = Vec::new();
        for write in &batch.writes {
            match write {
                Write::Apply { key, .. } => keys.push(key.clone()),
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

    async fn get(&self, key: &Key, part: Part) -> Result<Option<Entry>> {
        let mut used = self.used.lock().await;
        let entry = self.inner.get(key, part).await?;
        if let Some(entry) = &entry {
            used.touch(key, entry.expires_at);
        }
        Ok(entry)
    }

    async fn read(&self, log: &LogKey, range: Range) -> Result<Page> {
        self.inner.read(log, range).await
    }

    async fn scan(&self, space: &Space, scan: &Scan) -> Result<Vec<(String, Entry)>> {
        self.inner.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.inner.logs(space).await
    }

    async fn identities(&self, filter: &Filter, page: &PageRequest) -> Result<Vec<Tracked>> {
        self.inner.identities(filter, page).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.inner.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<Watch> {
        self.inner.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.inner.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.inner.check().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambit_storage::clock::Clock;
    use ambit_storage::memory::{Memory, Settings, Ttl};
    use std::sync::Arc;
    use std::time::Duration;

    fn of_two(clock: &Clock) -> Memory {
        let options = Options {
            clock: clock.clone(),
            ..Options::default()
        };
        Memory::store(Arc::new(Lru::new(2, options)), "s", Settings::default()).unwrap()
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
