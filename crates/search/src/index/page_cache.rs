//! The pages and directories of indexes that are in memory: the last ones used, up to a number of bytes.

use super::IndexSnapshot;
use crate::page::PostingPage;
use crate::vectors::CodePage;
use ambit_storage::address::Space;
use parking_lot::Mutex;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::{Hash, RandomState};
use std::sync::Arc;

/// What a page weighs besides its bytes.
const OVERHEAD: u64 = 256;
/// About so many large items are kept.
const LARGE_ITEMS: usize = 1024;

/// What is kept of all indexes of a store. Another store needs one of its own.
pub struct PageCache {
    pages: Cache<PageId, CachedPage, PageWeight>,
    snapshots: Cache<Space, Arc<IndexSnapshot>, SnapshotWeight>,
    /// Held while one snapshot takes the place of another.
    replacing: Mutex<()>,
}

/// A page as it was at one time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageId {
    /// The space of its index.
    pub space: Space,
    /// The name of its value.
    pub name: String,
    /// The version of its value; of a vector, which never changes, the index's incarnation.
    pub version: u64,
}

/// What an index is read for.
#[derive(Clone)]
pub enum CachedPage {
    /// Terms and where they stand.
    Postings(Arc<PostingPage>),
    /// Codes of vectors.
    Codes(Arc<CodePage>),
    /// A vector as it was given.
    Vector(Arc<[f32]>),
}

#[derive(Clone)]
struct PageWeight;

impl Weighter<PageId, CachedPage> for PageWeight {
    fn weight(&self, _: &PageId, page: &CachedPage) -> u64 {
        let bytes = match page {
            CachedPage::Postings(page) => page.len(),
            CachedPage::Codes(page) => page.len(),
            CachedPage::Vector(vector) => size_of_val(vector.as_ref()),
        };
        bytes as u64 + OVERHEAD
    }
}

#[derive(Clone)]
struct SnapshotWeight;

impl Weighter<Space, Arc<IndexSnapshot>> for SnapshotWeight {
    fn weight(&self, _: &Space, snapshot: &Arc<IndexSnapshot>) -> u64 {
        snapshot.bytes() as u64 + OVERHEAD
    }
}

/// A cache of few large items, in one shard: one of them may take most of its bytes.
pub fn cache_of_large<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone>(
    bytes: u64,
    weighter: W,
) -> Cache<K, V, W> {
    let mut options = OptionsBuilder::new();
    options
        .shards(1)
        .estimated_items_capacity(LARGE_ITEMS)
        .weight_capacity(bytes);
    match options.build() {
        Ok(options) => Cache::with_options(
            options,
            weighter,
            RandomState::default(),
            DefaultLifecycle::default(),
        ),
        Err(_) => Cache::with_weighter(LARGE_ITEMS, bytes, weighter),
    }
}

impl PageCache {
    /// Keeps so many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        let (pages, snapshots) = (bytes - bytes / 4, bytes / 4);
        let items = |bytes: u64, each: u64| usize::try_from(bytes / each).unwrap_or(usize::MAX) + 1;
        Arc::new(Self {
            pages: Cache::with_weighter(items(pages, 4096), pages, PageWeight),
            snapshots: cache_of_large(snapshots, SnapshotWeight),
            replacing: Mutex::default(),
        })
    }

    pub(crate) fn page(&self, id: &PageId) -> Option<CachedPage> {
        self.pages.get(id)
    }

    /// Keeps a page, unless the newest snapshot does not have it: what was erased meanwhile does not come back.
    pub(crate) fn keep_page(
        &self,
        id: &PageId,
        page: CachedPage,
        has_it: impl Fn(&IndexSnapshot) -> bool,
    ) {
        self.pages.insert(id.clone(), page);
        // Behind the insertion: a snapshot that comes later forgets the page itself.
        if !self.snapshot(&id.space).is_some_and(|kept| has_it(&kept)) {
            self.pages.remove(id);
        }
    }

    pub(crate) fn snapshot(&self, space: &Space) -> Option<Arc<IndexSnapshot>> {
        self.snapshots.get(space)
    }

    /// Keeps a snapshot in the place of an older one, and forgets the pages that it has no more.
    pub(crate) fn keep_snapshot(&self, space: &Space, snapshot: &Arc<IndexSnapshot>) {
        let replacing = self.replacing.lock();
        let older = self.snapshots.get(space);
        if older.as_ref().is_some_and(|kept| kept.is_behind(snapshot)) {
            return;
        }
        self.snapshots.insert(space.clone(), snapshot.clone());
        drop(replacing);
        let Some(older) = older else {
            // Pages may have outlived their snapshot.
            return self.forget_pages(space);
        };
        for page in older.pages_gone_in(snapshot, space) {
            self.pages.remove(&page);
        }
    }

    /// Forgets all of an index.
    pub(crate) fn forget(&self, space: &Space) {
        self.snapshots.remove(space);
        self.forget_pages(space);
    }

    fn forget_pages(&self, space: &Space) {
        self.pages.retain(|id, _| id.space != *space);
    }

    /// All pages that are in memory.
    #[cfg(feature = "conformance")]
    pub(crate) fn pages(&self) -> Vec<CachedPage> {
        self.pages.iter().map(|(_, page)| page).collect()
    }
}
