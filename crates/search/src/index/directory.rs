//! Where the pages of an index are, as of one moment.

use super::{SearchIndex, is_restless, page_prefix};
use crate::manifest::{IndexPart, Manifest};
use crate::page::{PostingPage, PostingPosition};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// How often a reader begins again because others write.
pub(super) const TRIES: usize = 16;

/// An index as it was at one moment.
pub struct IndexSnapshot {
    /// What it consists of.
    pub manifest: Manifest,
    /// The manifest's version; `None` where there is none yet.
    pub(super) version: Option<u64>,
    /// The pages of each part, in the order of the parts.
    pub(super) directories: Vec<Arc<PartDirectory>>,
}

/// The pages of a part, in order.
#[derive(Debug, Default)]
pub(super) struct PartDirectory {
    pub part: u32,
    pub revision: u32,
    pub pages: Vec<PagePlace>,
}

/// A page of a part.
#[derive(Debug)]
pub(super) struct PagePlace {
    pub start: PostingPosition,
    /// Of its value.
    pub version: u64,
}

/// A page of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct PagePosition {
    part: usize,
    page: usize,
}

impl IndexSnapshot {
    /// The pages on which a term may stand, in the order of the chunks.
    pub(crate) fn places(&self, term: &str) -> Vec<PagePosition> {
        self.places_by(|directory| directory.pages_of(term))
    }

    /// The pages on which terms with this beginning may stand.
    pub(crate) fn places_of_prefix(&self, prefix: &str) -> Vec<PagePosition> {
        self.places_by(|directory| directory.pages_of_prefix(prefix))
    }

    fn places_by(&self, pages: impl Fn(&PartDirectory) -> Range<usize>) -> Vec<PagePosition> {
        let parts = self.directories.iter().enumerate();
        let places = parts.flat_map(|(part, directory)| {
            pages(directory).map(move |page| PagePosition { part, page })
        });
        places.collect()
    }

    /// How much memory it takes, about.
    pub fn bytes(&self) -> usize {
        let pages: usize = self.directories.iter().map(|it| it.pages.len()).sum();
        pages * 64
    }
}

impl PartDirectory {
    /// The pages on which a term may stand.
    pub fn pages_of(&self, term: &str) -> Range<usize> {
        let behind = self
            .pages
            .partition_point(|page| page.start.term.as_str() <= term);
        self.first_page_of(term)..behind
    }

    /// The pages on which terms with this beginning may stand.
    pub fn pages_of_prefix(&self, prefix: &str) -> Range<usize> {
        let is_before = |page: &PagePlace| {
            let start = page.start.term.as_str();
            start <= prefix || start.starts_with(prefix)
        };
        self.first_page_of(prefix)..self.pages.partition_point(is_before)
    }

    fn first_page_of(&self, term: &str) -> usize {
        let is_before =
            |page: &PagePlace| (page.start.term.as_str(), page.start.chunk) <= (term, 0);
        self.pages.partition_point(is_before).saturating_sub(1)
    }
}

impl SearchIndex {
    /// The index as it is now.
    pub async fn snapshot(&self) -> Result<Arc<IndexSnapshot>> {
        let known = self.cache.snapshot(&self.space);
        let mut stored = self.stored_manifest().await?;
        if let Some(known) = &known
            && known.version == stored.version
        {
            return Ok(known.clone());
        }
        for _ in 0..TRIES {
            let mut directories = Vec::new();
            for part in &stored.manifest.parts {
                directories.push(self.directory(part, known.as_deref()).await?);
            }
            // What was read belongs to the manifest if that is still the same.
            let now = self.stored_manifest().await?;
            if now.version == stored.version {
                let snapshot = Arc::new(IndexSnapshot {
                    manifest: stored.manifest,
                    version: stored.version,
                    directories,
                });
                self.cache.keep_snapshot(&self.space, &snapshot);
                return Ok(snapshot);
            }
            stored = now;
        }
        Err(is_restless(&self.space))
    }

    async fn directory(
        &self,
        part: &IndexPart,
        known: Option<&IndexSnapshot>,
    ) -> Result<Arc<PartDirectory>> {
        let is_it =
            |known: &&Arc<PartDirectory>| (known.part, known.revision) == (part.id, part.revision);
        let known = known.and_then(|known| known.directories.iter().find(is_it));
        match known {
            Some(known) => Ok(known.clone()),
            None => {
                let pages = self.pages_of_part(part.id).await?;
                Ok(Arc::new(PartDirectory {
                    part: part.id,
                    revision: part.revision,
                    pages,
                }))
            }
        }
    }

    /// A page of a snapshot; `Conflict` where it is an old one by now.
    pub(crate) async fn page_at(
        &self,
        snapshot: &IndexSnapshot,
        place: PagePosition,
    ) -> Result<Arc<PostingPage>> {
        let page = self
            .page(&snapshot.directories[place.part], place.page)
            .await?;
        page.ok_or_else(|| is_restless(&self.space))
    }

    pub(super) async fn pages_of_part(&self, part: u32) -> Result<Vec<PagePlace>> {
        let prefix = page_prefix(part);
        let pattern = Pattern::parse(&format!("{prefix}*"));
        let mut values = ValuePages::of(
            self.driver.as_ref(),
            &self.space,
            pattern,
            ValuePart::Nothing,
        );
        let mut pages = Vec::new();
        while let Some(found) = values.next().await? {
            for (name, entry) in found {
                let start = PostingPosition::parse(&name[prefix.len()..]);
                let start = start.ok_or_else(|| {
                    Error::corrupt(format!("{}#{name}", self.space), "it names no page")
                })?;
                let version = entry.version;
                pages.push(PagePlace { start, version });
            }
        }
        Ok(pages)
    }
}
