//! A folder: one readable file per space (`spaces/`) and per index row (`rows/`), named by the SHA-256 of tenant and
//! path; for inspection and small installs. Every process that opens the folder takes its lock for each call.
//!
//! A commit writes a redo record first and its files after it, so a process killed at any byte leaves the old content
//! or the new. Fault points: `file.begin`, `file.redo_unnamed` (the record is written and does not count yet),
//! `file.redo_written` (the commit is decided), `file.partly_applied`, `file.applied`.

mod commit;
mod counter;
mod folder;
mod format;
mod index;
mod poll;
mod redo;

use super::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
    WatchHub,
};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::driver::state::StoreContents;
use crate::{Error, Result};
use async_trait::async_trait;
use folder::{LockMode, StoreFolder};
use futures::future::BoxFuture;
use poll::CommitPoller;
use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::RwLock;
use tokio::task::JoinError;
use tokio::time::timeout;

/// How long a call waits for the lock.
const WAIT: Duration = Duration::from_secs(5);

/// Opens the store in this folder and makes it where it is missing.
pub fn open(
    address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let driver: Arc<dyn Driver> = Arc::new(FileDriver::open(&address, options)?);
        Ok(driver)
    })
}

/// The file driver.
#[derive(Debug)]
pub struct FileDriver {
    shared: Arc<FileDriverInner>,
    /// Orders the callers of this process, so that only one process's callers meet at the file's lock.
    gate: Arc<RwLock<()>>,
    poller: CommitPoller,
}

#[derive(Debug)]
struct FileDriverInner {
    folder: StoreFolder,
    hub: WatchHub,
    options: DriverOptions,
    is_closed: AtomicBool,
    /// How often the lock was taken.
    entries: AtomicU64,
}

impl FileDriver {
    /// The store in this folder.
    pub fn open(address: &str, options: DriverOptions) -> Result<Self> {
        if address.is_empty() {
            let reason = "names no folder; write file:path/to/folder";
            return Err(Error::invalid("driver", reason));
        }
        // A later change of the working directory moves nothing.
        let root = std::path::absolute(address)
            .map_err(|error| Error::unavailable(format!("the path {address}"), error))?;
        let shared = Arc::new(FileDriverInner {
            folder: StoreFolder::create(root, options.durability)?,
            hub: WatchHub::default(),
            options,
            is_closed: AtomicBool::new(false),
            entries: AtomicU64::new(0),
        });
        Ok(Self {
            poller: CommitPoller::new(shared.folder.clone(), shared.hub.clone()),
            gate: Arc::default(),
            shared,
        })
    }

    /// Does blocking work under the lock. It goes on to its end even if the caller stops waiting.
    async fn with_lock<T: Send + 'static>(
        &self,
        access: LockMode,
        work: impl FnOnce(&FileDriverInner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.shared);
        let pass = self.enter(access).await?;
        let run = move || {
            let _pass = pass;
            shared.ensure_open()?;
            let _lock = shared.lock(access)?;
            work(&shared)
        };
        let done = tokio::task::spawn_blocking(run).await;
        done.map_err(|error| self.cut_off(&error))?
    }

    /// Waits for the other callers of this process, as long as they get on.
    async fn enter(&self, access: LockMode) -> Result<Box<dyn Send>> {
        let gate = Arc::clone(&self.gate);
        let mut entering = pin!(async move {
            let pass: Box<dyn Send> = match access {
                LockMode::Shared => Box::new(gate.read_owned().await),
                LockMode::Exclusive => Box::new(gate.write_owned().await),
            };
            pass
        });
        loop {
            let before = self.shared.entries.load(Ordering::Relaxed);
            if let Ok(pass) = timeout(WAIT, &mut entering).await {
                return Ok(pass);
            }
            if self.shared.entries.load(Ordering::Relaxed) == before {
                return Err(folder::busy(self.shared.folder.root(), WAIT));
            }
        }
    }

    fn cut_off(&self, error: &JoinError) -> Error {
        let place = self.place();
        Error::internal(format!(
            "work on the file store {place} was cut off: {error}"
        ))
    }

    async fn space<T: Send + 'static>(
        &self,
        space: &Space,
        look: impl FnOnce(&StoreContents, &DriverOptions) -> T + Send + 'static,
    ) -> Result<T> {
        let space = space.clone();
        let work = move |shared: &FileDriverInner| {
            let mut state = StoreContents::default();
            if let Some(contents) = format::read_space(&shared.folder, &space)? {
                state.spaces.insert(space, contents);
            }
            Ok(look(&state, &shared.options))
        };
        self.with_lock(LockMode::Shared, work).await
    }

    fn place(&self) -> String {
        self.shared.folder.root().display().to_string()
    }
}

impl FileDriverInner {
    fn ensure_open(&self) -> Result<()> {
        if !self.is_closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let store = self.folder.root().display();
        Err(Error::closed(format!("the file store {store}")))
    }

    /// Takes the lock, and finishes a commit that a killed process left behind.
    fn lock(&self, access: LockMode) -> Result<fs::File> {
        let lock = self.folder.lock(access, WAIT)?;
        self.entries.fetch_add(1, Ordering::Relaxed);
        if !redo::is_pending(&self.folder)? {
            return Ok(lock);
        }
        drop(lock);
        let lock = self.folder.lock(LockMode::Exclusive, WAIT)?;
        redo::recover(&self.folder)?;
        Ok(lock)
    }
}

#[async_trait]
impl Driver for FileDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.shared.options.limits)?;
        self.with_lock(LockMode::Exclusive, move |shared| {
            commit::commit(shared, &batch)
        })
        .await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        let key = log.clone();
        let page = move |state: &StoreContents, _: &DriverOptions| {
            state.log(&key).map(|log| log.page(range))
        };
        Ok(self.space(&log.space, page).await?.unwrap_or_default())
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        let wanted = key.clone();
        let entry = move |state: &StoreContents, options: &DriverOptions| {
            let stored = state.value(&wanted, options.clock.now());
            stored.map(|stored| stored.entry(part))
        };
        self.space(&key.space, entry).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        let (wanted, scan) = (space.clone(), scan.clone());
        let entries = move |state: &StoreContents, options: &DriverOptions| {
            state.scan(&wanted, &scan, options.clock.now())
        };
        self.space(space, entries).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        let wanted = space.clone();
        let names = move |state: &StoreContents, _: &DriverOptions| {
            let contents = state.spaces.get(&wanted).into_iter();
            contents
                .flat_map(|kept| kept.logs.keys().cloned())
                .collect()
        };
        self.space(space, names).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        let (filter, page) = (filter.clone(), *page);
        let work =
            move |shared: &FileDriverInner| index::identities(&shared.folder, &filter, &page);
        self.with_lock(LockMode::Shared, work).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        let filter = filter.clone();
        let work = move |shared: &FileDriverInner| index::count(&shared.folder, &filter);
        self.with_lock(LockMode::Shared, work).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.shared.ensure_open()?;
        self.poller.watch(log)
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        let now = self.shared.options.clock.now();
        let find = move |shared: &FileDriverInner| index::expired(&shared.folder, now, limit);
        let mut erased = 0;
        for space in self.with_lock(LockMode::Shared, find).await? {
            let rest = limit.saturating_sub(usize::try_from(erased).unwrap_or(limit));
            if rest == 0 {
                break;
            }
            let sweep = move |shared: &FileDriverInner| commit::sweep(shared, &space, rest);
            erased += self.with_lock(LockMode::Exclusive, sweep).await?;
        }
        Ok(erased)
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.with_lock(LockMode::Shared, |shared| index::check(&shared.folder))
            .await
    }

    fn kind(&self) -> &'static str {
        "file"
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.shared.ensure_open()?;
        let shared = Arc::clone(&self.shared);
        // No commit waits for a look at every file: what is written meanwhile is counted or not.
        let walk = tokio::task::spawn_blocking(move || shared.folder.size());
        let size = walk.await.map_err(|error| self.cut_off(&error))?;
        size.map(Some)
    }

    async fn contents(&self, _: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.shared.ensure_open()?;
        Ok(None)
    }

    async fn close(&self) -> Result<()> {
        self.shared.is_closed.store(true, Ordering::Release);
        self.poller.stop();
        self.shared.hub.close();
        // Those who were inside when the store was closed finish first.
        let left = timeout(WAIT, self.gate.write()).await;
        left.map(|_| ())
            .map_err(|_| folder::busy(self.shared.folder.root(), WAIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    /// Holds the lock until it is told, or nobody can tell it.
    async fn hold(
        driver: Arc<FileDriver>,
        entered: UnboundedSender<usize>,
        caller: usize,
        told: mpsc::Receiver<()>,
    ) -> Result<()> {
        let work = move |_: &FileDriverInner| {
            entered.send(caller).unwrap();
            let _ = told.recv();
            Ok(())
        };
        driver.with_lock(LockMode::Exclusive, work).await
    }

    #[tokio::test(start_paused = true)]
    async fn callers_of_one_process_wait_for_each_other_as_long_as_they_get_on() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        let driver = Arc::new(FileDriver::open(&place, DriverOptions::default()).unwrap());
        let (entered, mut entries) = unbounded_channel();
        let (mut leave, mut callers) = (Vec::new(), Vec::new());
        for caller in 0..3 {
            let (tell, told) = mpsc::channel();
            leave.push(tell);
            let held = hold(driver.clone(), entered.clone(), caller, told);
            callers.push(tokio::spawn(held));
        }
        for (caller, leave) in leave.into_iter().enumerate() {
            assert_eq!(entries.recv().await, Some(caller));
            tokio::time::advance(WAIT - Duration::from_secs(1)).await;
            drop(leave);
        }
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
    }
}
