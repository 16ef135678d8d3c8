//! Watches across processes: while somebody follows a log, the number of commits is looked at now and then.

use super::counter::CommitCounter;
use super::folder::StoreFolder;
use crate::Result;
use crate::address::LogKey;
use crate::driver::{LogWatch, WatchHub};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const STEP: Duration = Duration::from_millis(20);

/// Looks for other processes' commits as long as there are watches.
#[derive(Debug)]
pub struct CommitPoller {
    folder: StoreFolder,
    hub: WatchHub,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl CommitPoller {
    /// Not yet at work.
    pub fn new(folder: StoreFolder, hub: WatchHub) -> Self {
        Self {
            folder,
            hub,
            task: Arc::default(),
        }
    }

    /// A watch of this log, and the task that serves it.
    pub fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        let mut task = self.task.lock();
        let seen = CommitCounter::commits(&self.folder)?;
        let watch = self.hub.watch(log);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(poll(
                self.folder.clone(),
                self.hub.clone(),
                Arc::clone(&self.task),
                seen,
            )));
        }
        Ok(watch)
    }

    pub fn stop(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
        }
    }
}

impl Drop for CommitPoller {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn poll(
    folder: StoreFolder,
    hub: WatchHub,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    mut seen: u64,
) {
    loop {
        tokio::time::sleep(STEP).await;
        // A counter that cannot be read may hide a change: those who wait look for themselves and are told.
        let now = CommitCounter::commits(&folder).unwrap_or(seen.wrapping_add(1));
        if now != seen {
            seen = now;
            hub.notify_all();
        }
        let mut task = task.lock();
        if !hub.is_watched() {
            *task = None;
            return;
        }
    }
}
