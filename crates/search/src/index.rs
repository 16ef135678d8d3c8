//! An index in a space of a store: its manifest and its pages are values there.

mod change;
mod directory;
mod merge;
mod page_cache;
mod prepared_commit;
mod removal;
mod vector_directory;
mod vectors;

pub use change::IndexChange;
pub use directory::{IndexSnapshot, PagePosition};
#[cfg(feature = "conformance")]
pub(crate) use merge::MergeStep;
pub(crate) use page_cache::CachedPage;
pub use page_cache::{PageCache, cache_of_large};
pub use prepared_commit::PreparedCommit;
pub use removal::ChunkErasure;
pub(crate) use vector_directory::CodePagePlace;

use crate::manifest::Manifest;
use crate::page::{PostingPage, PostingPosition};
use crate::terms::TERMS_VERSION;
use ambit_storage::address::{INDEX_MANIFEST, Space, ValueKey};
use ambit_storage::batch::ValueEntry;
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::{Error, Result};
use directory::PartDirectory;
use page_cache::PageId;
use std::sync::Arc;

/// One index. Clones are the same one.
#[derive(Clone)]
pub struct SearchIndex {
    driver: Arc<dyn Driver>,
    space: Space,
    cache: Arc<PageCache>,
}

/// A manifest as it is stored.
struct StoredManifest {
    manifest: Manifest,
    /// `None` where there is none yet.
    version: Option<u64>,
    is_stale: bool,
}

impl StoredManifest {
    fn of(entry: Option<ValueEntry>) -> Result<Self> {
        Ok(match entry {
            Some(entry) => Self {
                manifest: entry.value.to()?,
                version: Some(entry.version),
                is_stale: entry.stale_possible,
            },
            None => Self {
                manifest: Manifest::new(TERMS_VERSION),
                version: None,
                is_stale: false,
            },
        })
    }
}

impl SearchIndex {
    /// The index of a space, whose pages are kept in memory as far as they fit.
    pub fn new(driver: Arc<dyn Driver>, space: Space, cache: Arc<PageCache>) -> Self {
        Self {
            driver,
            space,
            cache,
        }
    }

    async fn stored_manifest(&self) -> Result<StoredManifest> {
        StoredManifest::of(self.manifest_entry().await?)
    }

    /// For `StoredManifest::of`, which parses all of it; its version alone costs less.
    async fn manifest_entry(&self) -> Result<Option<ValueEntry>> {
        let key = self.space.key(INDEX_MANIFEST);
        self.driver.get(&key, ValuePart::Whole).await
    }

    async fn manifest_version(&self) -> Result<Option<u64>> {
        let key = self.space.key(INDEX_MANIFEST);
        let entry = self.driver.get(&key, ValuePart::Nothing).await?;
        Ok(entry.map(|entry| entry.version))
    }

    fn page_key(&self, part: u32, start: &PostingPosition) -> ValueKey {
        self.space.key(page_name(part, start))
    }

    /// A page; `None` where it has changed since its directory was read.
    async fn page(&self, directory: &PartDirectory, at: usize) -> Result<Option<Arc<PostingPage>>> {
        let place = &directory.pages[at];
        let id = PageId {
            space: self.space.clone(),
            name: page_name(directory.part, &place.start),
            version: place.version,
        };
        if let Some(CachedPage::Postings(page)) = self.cache.page(&id) {
            return Ok(Some(page));
        }
        let key = self.page_key(directory.part, &place.start);
        let stored = self.driver.get(&key, ValuePart::Whole).await?;
        let Some(entry) = stored.filter(|entry| entry.version == place.version) else {
            return Ok(None);
        };
        let page = Arc::new(PostingPage::of(&entry.value)?);
        let cached = CachedPage::Postings(page.clone());
        let has_it = |kept: &IndexSnapshot| kept.has_page(directory.part, place);
        self.cache.keep_page(&id, cached, has_it);
        Ok(Some(page))
    }
}

/// The beginning of the names of a part's pages.
fn page_prefix(part: u32) -> String {
    format!("page/{part}/")
}

fn page_name(part: u32, start: &PostingPosition) -> String {
    format!("{}{}", page_prefix(part), start.name())
}

/// The part and the start that `page_name` was given.
fn parse_page_name(name: &str) -> Option<(u32, PostingPosition)> {
    let (part, start) = name.strip_prefix("page/")?.split_once('/')?;
    Some((part.parse().ok()?, PostingPosition::parse(start)?))
}

/// What the manifest names is not there, though nobody has changed the index.
fn is_damaged(space: &Space) -> Error {
    let reason = "lacks pages that its manifest names; make it anew or restore it";
    Error::corrupt(format!("the index {space}"), reason)
}

/// Others have changed the index again and again while it was read.
fn is_restless(space: &Space) -> Error {
    Error::Conflict {
        what: format!("the index {space}"),
        expected: "a moment without changes".to_owned(),
        found: "changes during each try".to_owned(),
    }
}
