//! A driver keeps bytes. One trait, one table of drivers, one public suite (`conformance`) that all of them pass.

pub mod chain;
mod commit_counts;
mod contents;
#[cfg(feature = "file")]
pub mod file;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod integer;
pub mod memory;
mod pages;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod state;
mod striped_locks;
mod value_scan;
mod watch;
mod work;

pub use crate::data_kind::DataKind;
pub(crate) use commit_counts::CountedDriver;
pub use commit_counts::{CommitCounts, CommitOutcome};
pub use contents::DataSize;
pub(crate) use pages::LogPages;
pub use pages::{RowPages, ValuePages, first_row};
pub use state::StoreContents;
pub use value_scan::{ValuePart, ValueScan};
pub use watch::{LogWatch, WatchHub};
pub use work::{WorkCounters, WorkCounts};

use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, Head, LogEntry, SizeLimits, ValueEntry, WriteOutcome};
use crate::clock::Clock;
use crate::debug::opaque_debug;
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::{Error, Result, suggestion};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Keeps logs, values and index rows. Every method may be called from any task at any time.
///
/// A batch is written whole, or not at all:
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// use ambit_storage::address::Space;
/// use ambit_storage::batch::{Batch, BatchCheck, NewEntry, BatchWrite};
/// use ambit_storage::driver::{self, DriverOptions, LogRange};
/// use ambit_storage::{Error, Json, SessionIdentity};
///
/// let driver = driver::open("memory:", DriverOptions::default()).await?;
/// let identity = SessionIdentity::builder("Support").chat_name("billing").build()?;
/// let log = Space::of("default", &identity).log("notes");
///
/// let note = NewEntry::new("note-1", Json::of("prefers e-mail")?);
/// let append = BatchWrite::append(log.clone(), vec![note]);
/// // Only where nobody has written to the log before.
/// let first = Batch::of([append]).checking(BatchCheck::head(log.clone(), None));
/// driver.commit(first.clone()).await?;
/// let again = driver.commit(first).await;
/// assert!(matches!(again, Err(Error::Conflict { .. })));
///
/// let page = driver.read(&log, LogRange::from(1, 10)).await?;
/// assert_eq!(page.entries.len(), 1);
/// assert_eq!(page.entries[0].seq, 1);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Driver: Send + Sync + 'static {
    /// Writes the batch whole, or nothing and says why. When it returns, readers see it and it is as durable as the
    /// driver's settings say.
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>>;

    /// Part of a log.
    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage>;

    /// A value, or part of a list; `None` where it is absent or expired.
    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>>;

    /// The live values of a space whose name matches, by name in byte order, forward or backward; fewer than the limit where no
    /// others follow, or where they have the bytes that are asked for.
    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>>;

    /// The names of the logs of a space.
    async fn logs(&self, space: &Space) -> Result<Vec<String>>;

    /// One page of index rows.
    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>>;

    /// How many index rows there are.
    async fn count(&self, filter: &RowFilter) -> Result<u64>;

    /// Wakes when the log grows or changes, whichever process wrote.
    async fn watch(&self, log: &LogKey) -> Result<LogWatch>;

    /// Erases at most `limit` expired values; the answer is how many there were. Short, so that writers hardly wait.
    async fn sweep(&self, limit: usize) -> Result<u64>;

    /// Looks for damage; each finding names its place. Changes nothing.
    async fn check(&self) -> Result<Vec<String>>;

    /// What keeps the bytes, as the scheme of its address names it.
    fn kind(&self) -> &'static str;

    /// How many bytes it takes; nothing where nobody counts them.
    async fn size(&self) -> Result<Option<u64>>;

    /// How much it holds of these kinds, of which the first that fits counts, in their order; nothing where nobody counts it. It
    /// may read all that is there.
    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>>;

    /// Ends the driver's own tasks and releases its files; later calls fail `Unavailable`.
    async fn close(&self) -> Result<()>;
}

/// Which part of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// The first sequence wanted, in the direction of reading.
    pub from: u64,
    /// At most so many entries; 0 asks for the head alone.
    pub limit: usize,
    /// Upwards, or downwards.
    pub direction: Direction,
}

/// The direction of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending sequences or names.
    Forward,
    /// Descending sequences or names.
    Backward,
}

impl LogRange {
    /// Ascending from this sequence.
    pub fn from(from: u64, limit: usize) -> Self {
        Self {
            from,
            limit,
            direction: Direction::Forward,
        }
    }

    /// The last entries, the newest first.
    pub fn last(limit: usize) -> Self {
        Self::back_from(u64::MAX, limit)
    }

    /// Descending from this sequence.
    pub fn back_from(from: u64, limit: usize) -> Self {
        Self {
            from,
            limit,
            direction: Direction::Backward,
        }
    }

    /// Nothing but the head.
    pub fn head() -> Self {
        Self::last(0)
    }
}

/// Part of a log, and where the log ends. `head` is `None` where the log is absent; an empty log has a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The log's head.
    pub head: Option<Head>,
    /// The entries, in the direction of reading.
    pub entries: Vec<LogEntry>,
    /// True where a secondary answered for a primary that is down.
    pub stale_possible: bool,
}

/// How a driver is opened, the same for all.
#[derive(Clone, Default)]
pub struct DriverOptions {
    /// The time it sees.
    pub clock: Clock,
    /// The sizes it accepts.
    pub limits: SizeLimits,
    /// What "written" means.
    pub durability: Durability,
    /// Opens what is refused for safety: a network file system, a primary that may evict.
    pub force: bool,
    /// Called at named points of a write, so that tests can kill the process there.
    pub fault_points: FaultPoints,
    /// Counts what it does.
    pub work: WorkCounters,
}

/// What a successful write has survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss: every commit is synced, save those of leases alone: who holds one does not survive it.
    #[default]
    Full,
    /// The end of the process; power loss may take the last commits.
    Normal,
}

/// Called at named points of a write.
#[derive(Clone, Default)]
pub struct FaultPoints(Option<Arc<dyn Fn(&'static str) + Send + Sync>>);

impl FaultPoints {
    /// Calls this at each point.
    pub fn new(at: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(at)))
    }

    /// True where somebody looks: a driver that sends a write and its commit together then sends them apart.
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// A write has come to this point.
    pub fn reach(&self, point: &'static str) {
        if let Some(at) = &self.0 {
            at(point);
        }
    }
}

opaque_debug!(DriverOptions, |this| limits: this.limits, durability: this.durability);

/// Opens a driver by the part of its address behind the scheme.
pub type DriverOpener =
    fn(address: String, options: DriverOptions) -> BoxFuture<'static, Result<Arc<dyn Driver>>>;

/// Every driver that is built in, by the scheme of its address.
pub const DRIVERS: &[(&str, DriverOpener)] = &[
    ("memory", memory::open),
    #[cfg(feature = "file")]
    ("file", file::open),
    #[cfg(feature = "sqlite")]
    ("sqlite", sqlite::open),
    #[cfg(feature = "postgres")]
    ("postgres", postgres::open),
    #[cfg(feature = "redis")]
    ("redis", redis::open),
];

/// Schemes whose driver is built by the feature of the same name.
const FEATURES: [&str; 4] = ["file", "postgres", "redis", "sqlite"];

/// Opens `scheme:address`, for instance `sqlite:data/ambit.db`.
pub async fn open(url: &str, options: DriverOptions) -> Result<Arc<dyn Driver>> {
    let (scheme, address) = url.split_once(':').unwrap_or((url, ""));
    let Some((_, open)) = DRIVERS.iter().find(|(name, _)| *name == scheme) else {
        return Err(not_built_in(scheme));
    };
    open(address.to_owned(), options).await
}

/// Whether there is a driver with this scheme, built in or not.
pub(crate) fn has(scheme: &str) -> bool {
    FEATURES.contains(&scheme) || DRIVERS.iter().any(|(name, _)| *name == scheme)
}

/// The error for a scheme that is not in the table: its feature is off, or nobody knows it.
pub(crate) fn not_built_in(scheme: &str) -> Error {
    if FEATURES.contains(&scheme) {
        let reason = format!(
            "\"{scheme}\" is not built in; build ambit-storage with the feature \"{scheme}\""
        );
        return Error::invalid("driver", reason);
    }
    let known: Vec<&str> = DRIVERS.iter().map(|(name, _)| *name).collect();
    let hint = suggestion::hint(scheme, known.iter().copied());
    let reason = format!(
        "\"{scheme}\" is unknown; known are {}{hint}",
        known.join(", ")
    );
    Error::invalid("driver", reason)
}

#[cfg(test)]
mod tests {
    use super::{DriverOptions, not_built_in, open};

    #[test]
    fn a_driver_that_is_not_built_in_names_its_feature() {
        assert_eq!(
            not_built_in("redis").to_string(),
            "driver \"redis\" is not built in; build ambit-storage with the feature \"redis\""
        );
    }

    #[tokio::test]
    async fn an_unknown_driver_is_told_the_known_ones() {
        let Err(error) = open("sqlit:x.db", DriverOptions::default()).await else {
            panic!("there is no such driver");
        };
        assert_eq!(
            error.to_string(),
            "driver \"sqlit\" is unknown; known are memory, file, sqlite, postgres, redis; did you mean \"sqlite\"?"
        );
    }
}
