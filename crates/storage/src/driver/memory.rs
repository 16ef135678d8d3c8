//! The process's own memory: tests, temporary sessions, and the reference for the other drivers.

use super::state::State;
use super::{Driver, Hub, Options, Page, Part, Range, Scan, Watch};
use crate::address::{Key, LogKey, Space};
use crate::batch::{Batch, Entry, Outcome, Write};
use crate::directory::{Filter, PageRequest, Tracked};
use crate::{Error, Result};
use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::sync::Arc;

/// Opens an empty store; the address is not looked at.
pub fn open(_address: String, options: Options) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let driver: Arc<dyn Driver> = Arc::new(Memory::new(options));
        Ok(driver)
    })
}

/// The memory driver.
#[derive(Debug)]
pub struct Memory {
    state: Mutex<Option<State>>,
    hub: Hub,
    options: Options,
}

impl Memory {
    /// An empty store.
    pub fn new(options: Options) -> Self {
        Self {
            state: Mutex::new(Some(State::default())),
            hub: Hub::default(),
            options,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> Result<T> {
        let mut state = self.state.lock();
        let state = state.as_mut();
        let state = state.ok_or_else(|| Error::closed("the memory store"))?;
        Ok(work(state))
    }
}

#[async_trait]
impl Driver for Memory {
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>> {
        batch.validate(&self.options.limits)?;
        self.options.fault_points.reach("memory.commit");
        let outcomes = self.with(|state| state.commit(&batch, self.options.clock.now()))??;
        notify(&self.hub, &batch);
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: Range) -> Result<Page> {
        self.with(|state| {
            state
                .log(log)
                .map(|log| log.page(range))
                .unwrap_or_default()
        })
    }

    async fn get(&self, key: &Key, part: Part) -> Result<Option<Entry>> {
        self.with(|state| {
            state
                .value(key, self.options.clock.now())
                .map(|stored| stored.entry(part))
        })
    }

    async fn scan(&self, space: &Space, scan: &Scan) -> Result<Vec<(String, Entry)>> {
        self.with(|state| state.scan(space, scan, self.options.clock.now()))
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        let names = |state: &mut State| {
            state
                .spaces
                .get(space)
                .map(|contents| contents.logs.keys().cloned().collect())
        };
        Ok(self.with(names)?.unwrap_or_default())
    }

    async fn identities(&self, filter: &Filter, page: &PageRequest) -> Result<Vec<Tracked>> {
        self.with(|state| state.identities(filter, page))
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.with(|state| state.count(filter))
    }

    async fn watch(&self, log: &LogKey) -> Result<Watch> {
        Ok(self.hub.watch(log))
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.with(|state| state.sweep(limit, self.options.clock.now()))
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.with(|_| Vec::new())
    }

    async fn close(&self) -> Result<()> {
        self.hub.close();
        self.state.lock().take();
        Ok(())
    }
}

/// Wakes those who follow what a batch changed.
pub(super) fn notify(hub: &Hub, batch: &Batch) {
    for write in &batch.writes {
        match write {
            Write::Append { log, .. } | Write::Redact { log, .. } | Write::Drop { log } => {
                hub.notify(log);
            }
            Write::Clear { .. } | Write::Remove { .. } | Write::Mirror(_) => hub.notify_all(),
            _ => {}
        }
    }
}
