//! What a store has done since it was opened, counted: so that a change which makes turns dearer is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what drivers do. The clones count together. SQLite counts its work here; servers count theirs themselves.
#[derive(Clone, Debug, Default)]
pub struct WorkCounters(Arc<AtomicWork>);

#[derive(Debug, Default)]
struct AtomicWork {
    commits: AtomicU64,
    synced_commits: AtomicU64,
    statements: AtomicU64,
    pages: AtomicU64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    /// Transactions that wrote; callers that wait at the same time share one.
    pub commits: u64,
    /// Those of them that waited for the disk.
    pub synced_commits: u64,
    /// SQL statements, reads included.
    pub statements: u64,
    /// Pages written to the log that is written ahead.
    pub pages: u64,
}

impl WorkCounters {
    /// What has been counted so far.
    pub fn counts(&self) -> WorkCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkCounts {
            commits: read(&self.0.commits),
            synced_commits: read(&self.0.synced_commits),
            statements: read(&self.0.statements),
            pages: read(&self.0.pages),
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn add_commit(&self, is_synced: bool) {
        self.0.commits.fetch_add(1, Ordering::Relaxed);
        let synced = u64::from(is_synced);
        self.0.synced_commits.fetch_add(synced, Ordering::Relaxed);
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn add_statement(&self) {
        self.0.statements.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn add_pages(&self, pages: u64) {
        self.0.pages.fetch_add(pages, Ordering::Relaxed);
    }
}

impl std::ops::Sub for WorkCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            commits: self.commits - before.commits,
            synced_commits: self.synced_commits - before.synced_commits,
            statements: self.statements - before.statements,
            pages: self.pages - before.pages,
        }
    }
}
