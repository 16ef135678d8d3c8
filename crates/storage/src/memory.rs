//! Memory: named values that outlive a message. One handle is one namespace of one owner; each write is one batch.

mod lists;
mod location;
mod namespace;
mod row_listener;
mod ttl;
mod values;
mod versions;

pub use location::MemoryLocation;
pub(crate) use location::forget_index;
pub use namespace::{ChatMemoryOwner, MemorySettings, Namespace, RowTracking, SCOPE};
pub(crate) use row_listener::RowListener;
pub use ttl::Ttl;
pub use versions::{ExpectedVersion, MemoryWrite, ValueLife};

use crate::batch::{Batch, BatchCheck, BatchWrite, ValueEntry, WriteOutcome};
use crate::bus::at_same_depth;
use crate::clock::{Clock, Millis, to_millis};
use crate::detach_on_drop::DetachOnDrop;
use crate::driver::{Driver, ValuePart};
use crate::json::{Json, StoredValue};
use crate::operation::{self, Operation, OperationOutput};
use crate::{Error, Result, temporary};
use futures::future::BoxFuture;
use namespace::MemoryOwner;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// Longest name of a value, in bytes.
pub const MAX_KEY: usize = 512;

/// One namespace of one owner. Cheap to clone; clones are one handle.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// use ambit_storage::Stores;
/// use ambit_storage::driver::DriverOptions;
/// use ambit_storage::memory::{Memory, MemorySettings, Ttl};
///
/// let stores = Stores::builder(DriverOptions::default()).build()?;
/// let driver = stores.index()?.driver().clone();
/// let memory = Memory::user(driver, "default", Some("user-123"), MemorySettings::default())?;
///
/// memory.set("language", "de", None).await?;
/// memory.set("code", &4711, Some(Ttl::parse("10m")?)).await?;
/// memory.incr("visits", 1.0).await?;
/// memory.push("topics", &["billing", "travel"]).await?;
///
/// let language = memory.get("language").await?.expect("it was set");
/// assert_eq!(language.to::<String>()?, "de");
/// assert_eq!(memory.array_len("topics").await?, 2);
/// assert_eq!(memory.keys(Some("co*")).await?, ["code"]);
/// # Ok(())
/// # }
/// ```
///
/// A conversation's own memory is [`Context::memory`](crate::Context::memory).
#[derive(Clone)]
pub struct Memory {
    driver: Arc<dyn Driver>,
    namespace: Namespace,
    owner: Option<MemoryOwner>,
    settings: MemorySettings,
    tracking: Option<Arc<RowTracking>>,
    row_listener: Option<Arc<dyn RowListener>>,
    temporary: Option<IdleLimit>,
    listener: Option<WriteListener>,
}

/// Who is told when a write has become durable, before the write returns.
pub type WriteListener = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What is idle for this time is gone, and no value lives longer, whatever its write says.
#[derive(Clone)]
struct IdleLimit {
    clock: Clock,
    life: Duration,
}

impl Memory {
    /// The owner's id; empty where there is no owner.
    pub fn id(&self) -> &str {
        self.owner.as_ref().map_or("", |owner| &owner.id)
    }

    /// The namespace's name.
    pub fn space(&self) -> &'static str {
        self.namespace.name()
    }

    /// Ends a request's memory: nothing of it is left, and later calls of any clone fail `Unavailable`. The other
    /// namespaces outlive their handles, so nothing happens to them.
    pub async fn end(&self) -> Result<()> {
        match self.namespace {
            Namespace::Context => self.driver.close().await,
            _ => Ok(()),
        }
    }

    /// The same memory, whose writes through this handle and its clones are told to somebody.
    pub fn with_listener(self, listener: WriteListener) -> Self {
        Self {
            listener: Some(listener),
            ..self
        }
    }

    /// The same memory, of whose index row somebody is asked and told.
    pub(crate) fn with_row_listener(self, listener: Arc<dyn RowListener>) -> Self {
        Self {
            row_listener: Some(listener),
            ..self
        }
    }

    /// The same memory as a temporary session's.
    pub(crate) fn temporary(self, clock: &Clock, life: Duration) -> Self {
        let clock = clock.clone();
        Self {
            temporary: Some(IdleLimit { clock, life }),
            ..self
        }
    }

    fn owner(&self) -> Result<&MemoryOwner> {
        self.owner
            .as_ref()
            .ok_or_else(|| self.namespace.missing_owner())
    }

    /// The write of one operation, everything about it checked and fixed.
    fn plan(&self, key: &str, op: Operation, ttl: Option<Ttl>) -> Result<BatchWrite> {
        check_key(key)?;
        let key = self.owner()?.space.key(key);
        self.check_size(&op)?;
        let asked: Option<Millis> = ttl.unwrap_or(self.settings.default_ttl).life();
        let longest = self.temporary.as_ref();
        let longest = longest.map(|temporary| to_millis(temporary.life));
        let life = match (asked, longest) {
            (Some(asked), Some(longest)) => Some(asked.min(longest)),
            (asked, longest) => asked.or(longest),
        };
        Ok(BatchWrite::Apply { key, op, life })
    }

    fn check_size(&self, op: &Operation) -> Result<()> {
        let (size, limit) = (op.size(), self.settings.value_limit);
        if size > limit {
            return Err(Error::limited("value bytes", size as u64, limit as u64));
        }
        match op {
            Operation::Set(StoredValue::List(items))
            | Operation::Replace(StoredValue::List(items))
                if items.len() as u64 > operation::MAX_LIST =>
            {
                Err(operation::too_long(items.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// Commits a write; one that makes data comes behind its index row.
    async fn commit(&self, write: BatchWrite) -> Result<WriteOutcome> {
        self.commit_if(Vec::new(), write).await
    }

    /// The same where the checks hold. Once the row's listener agrees it goes on whoever leaves, so that what is durable is told.
    async fn commit_if(&self, checks: Vec<BatchCheck>, write: BatchWrite) -> Result<WriteOutcome> {
        let mut batch = Batch {
            checks,
            ..Batch::default()
        };
        let mut row = None;
        if makes_data(&write) {
            row = self.row_write().await?;
            if let Some(IdleLimit { clock, life }) = &self.temporary {
                let space = &self.owner()?.space;
                batch
                    .writes
                    .push(temporary::extend_life(space, clock, *life)?);
            }
        }
        batch.writes.push(write);
        let work = self.clone().commit_and_tell(row, batch);
        DetachOnDrop::new(at_same_depth(work.in_current_span())).await
    }

    async fn commit_and_tell(
        self,
        row: Option<BatchWrite>,
        mut batch: Batch,
    ) -> Result<WriteOutcome> {
        let tracking = self.tracking.as_deref();
        let index = tracking.and_then(|tracking| tracking.index.as_ref());
        let mut outcomes = Vec::new();
        match (row, index) {
            (Some(row), Some(index)) => outcomes = index.commit(Batch::of([row])).await?,
            (Some(row), None) => batch.writes.insert(0, row),
            (None, _) => {}
        }
        let written = self.driver.commit(batch).await;
        let written = written.map(|written| outcomes.extend(written));
        // A row in another store is there even where its data is not.
        self.tell_row_listener(&outcomes).await;
        written?;
        self.tell_listener().await;
        let nothing = || Error::internal("a driver gave no outcome for a write");
        outcomes.into_iter().next_back().ok_or_else(nothing)
    }

    /// Tells whoever listens that something was written.
    async fn tell_listener(&self) {
        if let Some(listener) = &self.listener {
            listener().await;
        }
    }

    async fn apply(&self, write: BatchWrite) -> Result<OperationOutput> {
        match self.commit(write).await? {
            WriteOutcome::Applied { output, .. } => Ok(output),
            other => Err(unexpected(&other)),
        }
    }

    async fn read(&self, key: &str, part: ValuePart) -> Result<Option<ValueEntry>> {
        check_key(key)?;
        match &self.owner {
            Some(owner) => self.driver.get(&owner.space.key(key), part).await,
            None => Ok(None),
        }
    }
}

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() {
        return Err(Error::invalid("key", "must be a non-empty string"));
    }
    if key.len() > MAX_KEY {
        return Err(Error::limited(
            "key bytes",
            key.len() as u64,
            MAX_KEY as u64,
        ));
    }
    Ok(())
}

/// True for the writes that can leave data where there was none; the others need no index row.
fn makes_data(write: &BatchWrite) -> bool {
    let BatchWrite::Apply { op, .. } = write else {
        return false;
    };
    matches!(
        op,
        Operation::Set(_)
            | Operation::Replace(_)
            | Operation::Incr(_)
            | Operation::Push(_)
            | Operation::AddToSet(_)
            | Operation::ArraySet(..)
    )
}

fn unexpected(what: &impl std::fmt::Debug) -> Error {
    Error::internal(format!("a driver answered {what:?} to a memory operation"))
}

/// The items of a list, or the one item that another value is.
fn items_of(values: Json) -> Vec<Json> {
    match StoredValue::from(values) {
        StoredValue::List(items) => items,
        StoredValue::Plain(item) => vec![item],
    }
}
