//! The knowledge base: collections, documents, search and jobs over one store.

mod collections;
mod document_file;
mod documents;
mod feedback;
mod file_sync;
mod hits;
mod ingestion;
mod job_polls;
mod job_watch;
mod jobs;
mod lookup;
mod persons;
mod query_rate;
mod query_vectors;
mod quota;
mod ratings;
mod reindex;
mod removal;
mod search;
mod table;
mod upload;

pub use collections::CollectionFilter;
pub use document_file::DocumentFile;
pub use documents::DocumentFilter;
pub use hits::UsedChunk;
pub use jobs::JobFilter;
pub use query_vectors::{EmbeddedQuery, QueryId, QueryVectors, TenantQuery, UnknownVector};
pub use quota::TenantRoom;

use crate::error::KnowledgeError;
use crate::names::CollectionPlace;
use crate::settings::KnowledgeSettings;
use ambit_search::index::{PageCache, SearchIndex};
use ambit_storage::driver::Driver;
use ambit_storage::ids;
use futures::{StreamExt, stream};
use hits::WaitingHits;
use job_polls::JobPolls;
use query_rate::QueryRate;
use std::sync::Arc;
use std::time::Duration;
use table::TableCache;
use tokio::sync::{Mutex, Notify};

/// How often a change that meets others is done again.
const TRIES: u32 = 64;
/// Collections that one request reads at once.
const AT_ONCE: usize = 16;

/// Collections of documents over one store. Clones are the same one.
#[derive(Clone)]
pub struct KnowledgeBase {
    pub(crate) shared: Arc<KnowledgeShared>,
}

/// What the clones of a knowledge base share.
pub(crate) struct KnowledgeShared {
    pub settings: KnowledgeSettings,
    /// Something is to be done.
    pub wake: Notify,
    /// By which others know this process, by chance.
    node: String,
    pages: Arc<PageCache>,
    tables: TableCache,
    rate: QueryRate,
    query_vectors: Arc<QueryVectors>,
    hits: WaitingHits,
    job_polls: JobPolls,
    /// Uploads of this process go one by one, so that they do not meet each other at the sums of their tenant.
    ingestion: Mutex<()>,
}

impl KnowledgeBase {
    /// Works over a store. Documents are read and erased where [`start`](Self::start) was called, on this node or another.
    pub fn open(settings: KnowledgeSettings) -> Self {
        let (tables, pages) = (settings.memory / 4, settings.memory - settings.memory / 4);
        let shared = KnowledgeShared {
            node: ids::unguessable(),
            pages: PageCache::new(pages),
            tables: TableCache::new(tables),
            rate: QueryRate::default(),
            query_vectors: Arc::default(),
            hits: WaitingHits::default(),
            job_polls: JobPolls::default(),
            wake: Notify::new(),
            ingestion: Mutex::new(()),
            settings,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        self.shared.settings.driver.as_ref()
    }

    /// What it works with.
    pub fn settings(&self) -> &KnowledgeSettings {
        &self.shared.settings
    }

    pub(crate) fn now(&self) -> i64 {
        self.settings().clock.now()
    }

    /// An id that nothing else has, and that ascends with time.
    pub(crate) fn new_id(&self) -> String {
        ids::ordered(&self.settings().clock)
    }

    /// Something is to be done.
    pub(crate) fn wake(&self) {
        self.shared.wake.notify_waiters();
    }

    pub(crate) fn index(&self, place: &CollectionPlace, version: u32) -> SearchIndex {
        SearchIndex::new(
            self.settings().driver.clone(),
            place.index(version),
            self.shared.pages.clone(),
        )
    }
}

/// What futures about collections give, in their order. They run some at once.
async fn some_at_once<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    stream::iter(futures).buffered(AT_ONCE).collect().await
}

/// Does a change, given as an `async` block, again as long as it meets others. A function that takes an async closure would do,
/// but for its future, which no compiler yet knows to be `Send`.
macro_rules! retried {
    ($change:expr) => {{
        let mut race = $crate::base::RaceRetry::default();
        loop {
            let done: $crate::error::Result<_> = $change.await;
            match done {
                Err(error) if race.is_lost(&error) => race.pause().await,
                done => break done,
            }
        }
    }};
}
pub(crate) use retried;

/// How often a change has met others.
#[derive(Default)]
pub(crate) struct RaceRetry {
    tries: u32,
}

impl RaceRetry {
    /// Whether somebody else was first, so that it is to be done again.
    pub fn is_lost(&mut self, error: &KnowledgeError) -> bool {
        self.tries += 1;
        error.is_race() && self.tries <= TRIES
    }

    /// Waits for a moment, longer each time, by chance: those who have met must not meet again.
    pub async fn pause(&self) {
        let most = 1 << self.tries.min(6);
        let pause = rand::random_range(0..=most);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}
