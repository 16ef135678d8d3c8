//! A turn's event log: numbered without gaps, stored in steps, and read by everybody who follows the turn.
//!
//! Readers see an entry only once it is stored, so that a number that was sent is never given to another entry. Entries are
//! stored as soon as the store can take them, and become rows of the log in longer steps. The same log keeps a trace: to it
//! an entry is one JSON text.

mod pace;
mod reader;
mod row;
mod shared;
mod staged;
mod state;
mod tail;
mod writer;

pub use reader::StreamReader;
pub use row::{StoredStream, last_number, read_all};
pub(crate) use row::{beside_id, beside_name, time_of};
pub use shared::{PendingWrites, StoreHold};
pub use writer::{ResumedStream, StreamWriter};

use ambit_storage::address::LogKey;
use ambit_storage::batch::BatchCheck;
use ambit_storage::driver::Driver;
use std::sync::Arc;
use std::time::Duration;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    /// 1, 2, 3 …
    pub number: u64,
    /// The frame as JSON.
    pub text: Arc<str>,
}

/// Where a log is written.
#[derive(Clone)]
pub struct StreamTarget {
    /// What keeps it.
    pub driver: Arc<dyn Driver>,
    /// Its name there.
    pub log: LogKey,
    /// What must hold for a write to count: the lease of the turn.
    pub check: Option<BatchCheck>,
}

/// How a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// The least time between two rows, and the longest that readers wait for a store that works.
    pub step: Duration,
    /// A row is stored before its time when so many bytes are in no row yet.
    pub bytes: usize,
    /// Whether readers wait for each entry, so that it is stored before the next row is.
    pub is_live: bool,
    /// Whether entries are stored at all; if not, readers see them at once, and only while the turn runs here.
    pub is_persistent: bool,
    /// Behind so many bytes a log is full: whoever writes to it leaves details out.
    pub budget: usize,
    /// So many bytes of what is stored stay in memory for those who follow closely.
    pub recent_bytes: usize,
}

impl StreamOptions {
    /// For what is only listened to here: nothing of it is stored.
    pub fn transient() -> Self {
        Self {
            is_persistent: false,
            recent_bytes: usize::MAX,
            ..Self::default()
        }
    }

    /// For a log beside a stream: nobody waits for it, so that it goes along with the stream's steps however long it is.
    pub fn companion() -> Self {
        Self {
            bytes: 256 << 10,
            is_live: false,
            ..Self::default()
        }
    }
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            step: Duration::from_millis(100),
            bytes: 4096,
            is_live: true,
            is_persistent: true,
            budget: 8 << 20,
            recent_bytes: 256 << 10,
        }
    }
}
