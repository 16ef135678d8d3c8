//! Waking those who follow a log.

use crate::address::LogKey;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Waits for a log to grow. Wake-ups may come for nothing, and several changes may come as one; none is missed. A clone waits on
/// its own for what its original has not waited for.
#[derive(Clone, Debug)]
pub struct LogWatch {
    changes: watch::Receiver<u64>,
}

impl LogWatch {
    /// Waits for a change since the last call (or since the watch was made); `false` when the driver has closed.
    pub async fn changed(&mut self) -> bool {
        self.changes.changed().await.is_ok()
    }

    /// Whether there is a change that was not waited for, or the driver has closed.
    pub fn has_changed(&self) -> bool {
        self.changes.has_changed().unwrap_or(true)
    }

    /// Has the next wait end at once.
    pub fn mark_changed(&mut self) {
        self.changes.mark_changed();
    }
}

/// The watches of one driver in this process.
#[derive(Clone, Debug, Default)]
pub struct WatchHub {
    watched: Arc<Mutex<HashMap<LogKey, watch::Sender<u64>>>>,
}

impl WatchHub {
    /// A new watch of this log.
    pub fn watch(&self, log: &LogKey) -> LogWatch {
        self.watch_or_begin(log, || {})
    }

    /// The same, and begins something where nobody has followed any log.
    pub(crate) fn watch_or_begin(&self, log: &LogKey, begin: impl FnOnce()) -> LogWatch {
        let mut watched = self.watched.lock();
        watched.retain(|_, sender| sender.receiver_count() > 0);
        if watched.is_empty() {
            begin();
        }
        let changes = watched
            .entry(log.clone())
            .or_insert_with(|| watch::channel(0).0)
            .subscribe();
        LogWatch { changes }
    }

    /// Wakes the watches of this log.
    pub fn notify(&self, log: &LogKey) {
        if let Some(sender) = self.watched.lock().get(log) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Wakes all watches, where it is not known what changed.
    pub fn notify_all(&self) {
        for sender in self.watched.lock().values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// The logs that somebody follows.
    pub fn watched(&self) -> Vec<LogKey> {
        let watched = self.watched.lock();
        watched
            .iter()
            .filter(|(_, sender)| sender.receiver_count() > 0)
            .map(|(log, _)| log.clone())
            .collect()
    }

    /// True where somebody follows a log.
    pub fn is_watched(&self) -> bool {
        let watched = self.watched.lock();
        watched.values().any(|sender| sender.receiver_count() > 0)
    }

    /// Ends all watches.
    pub fn close(&self) {
        self.watched.lock().clear();
    }
}
