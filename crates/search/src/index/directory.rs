//! Where the pages of an index are, as of one moment.

use super::page_cache::PageId;
use super::vector_directory::VectorDirectory;
use super::{
    SearchIndex, StoredManifest, is_damaged, is_restless, page_name, page_prefix, parse_page_name,
};
use crate::manifest::Manifest;
use crate::page::{PostingPage, PostingPosition};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// How often a reader begins again because others write.
pub(super) const TRIES: usize = 16;

/// An index as it was at one moment.
#[derive(Debug, PartialEq)]
pub struct IndexSnapshot {
    /// What it consists of.
    pub manifest: Manifest,
    /// The manifest's version; `None` where there is none yet.
    pub(super) version: Option<u64>,
    /// A secondary has answered for a store that is down: there may be something newer.
    pub(super) is_stale: bool,
    /// The pages of each part, in the order of the parts.
    pub(super) directories: Vec<Arc<PartDirectory>>,
    /// The pages of each group of vectors, in the order of the sets and of their chunks.
    pub(super) vectors: Vec<Arc<VectorDirectory>>,
}

/// The pages of a part, in order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PartDirectory {
    pub part: u32,
    pub revision: u32,
    pub pages: Vec<PagePlace>,
}

/// A page of a part.
#[derive(Debug, PartialEq)]
pub(super) struct PagePlace {
    pub start: PostingPosition,
    /// Of its value.
    pub version: u64,
}

/// A page of a snapshot; those with lower numbers have the lower chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PagePosition {
    part: usize,
    page: usize,
}

impl IndexSnapshot {
    /// Whether the index was begun.
    pub fn is_stored(&self) -> bool {
        self.version.is_some()
    }

    /// Whether it comes after another one of the same index.
    pub(super) fn is_behind(&self, other: &Self) -> bool {
        self.manifest.incarnation == other.manifest.incarnation && self.version > other.version
    }

    /// Whether it has a page of a part as it is there.
    pub(super) fn has_page(&self, part: u32, page: &PagePlace) -> bool {
        let directory = self.directories.iter().find(|it| it.part == part);
        directory.is_some_and(|it| {
            let at = it.pages.binary_search_by(|it| it.start.cmp(&page.start));
            at.is_ok_and(|at| it.pages[at].version == page.version)
        })
    }

    /// Whether each part has the pages that the manifest says.
    pub(super) fn is_whole(&self) -> bool {
        let mut parts = self.manifest.parts.iter().zip(&self.directories);
        let groups = self.manifest.vectors.iter().flat_map(|set| &set.groups);
        let mut groups = groups.zip(&self.vectors);
        parts.all(|(part, directory)| part.pages as usize == directory.pages.len())
            && groups.all(|(group, directory)| group.pages as usize == directory.pages.len())
    }

    /// The pages on which a term may stand, in the order of the chunks.
    pub(crate) fn places(&self, term: &str) -> Vec<PagePosition> {
        self.places_by(|directory| directory.pages_of(term))
    }

    /// The pages on which terms with this beginning may stand.
    pub(crate) fn places_of_prefix(&self, prefix: &str) -> Vec<PagePosition> {
        self.places_by(|directory| directory.pages_of_prefix(prefix))
    }

    /// The first posting that a page may have.
    pub(crate) fn start(&self, place: PagePosition) -> &PostingPosition {
        &self.directories[place.part].pages[place.page].start
    }

    /// The pages that a later snapshot does not have as they are here.
    pub(super) fn pages_gone_in(&self, later: &Self, space: &Space) -> Vec<PageId> {
        let mut gone = Vec::new();
        for directory in &self.directories {
            let mut now = later.directories.iter();
            if now.any(|now| Arc::ptr_eq(now, directory)) {
                continue;
            }
            let is_gone = |page: &&PagePlace| !later.has_page(directory.part, page);
            gone.extend(directory.pages.iter().filter(is_gone).map(|page| PageId {
                space: space.clone(),
                name: page_name(directory.part, &page.start),
                version: page.version,
            }));
        }
        gone.extend(self.vectors_gone_in(later, space));
        gone
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
        let codes: usize = self.vectors.iter().map(|it| it.pages.len()).sum();
        pages * 64 + codes * 16
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

    /// The pages on which a term may stand with one of these chunks.
    pub fn pages_with(&self, term: &str, chunks: &Range<u32>) -> impl Iterator<Item = usize> {
        self.pages_of(term).filter(move |at| {
            let is_of_term = |at: usize| self.pages.get(at).filter(|page| page.start.term == term);
            let is_before = is_of_term(at + 1).is_some_and(|next| next.start.chunk <= chunks.start);
            let is_behind = is_of_term(*at).is_some_and(|page| page.start.chunk >= chunks.end);
            !is_before && !is_behind
        })
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
        let kept = self.cache.snapshot(&self.space);
        let entry = self.manifest_entry().await?;
        let version = entry.as_ref().map(|entry| entry.version);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.version == version) {
            return Ok(kept.clone());
        }
        let mut stored = StoredManifest::of(entry)?;
        let mut known = kept;
        for _ in 0..TRIES {
            let read = self.read_directories(&stored, known.as_deref()).await?;
            let is_whole = read.is_whole();
            let snapshot = Arc::new(read);
            // What was read belongs to the manifest if that is still the same, or lost nothing since.
            if is_whole && self.manifest_version().await? == stored.version {
                return Ok(self.keep_read(snapshot));
            }
            let now = self.stored_manifest().await?;
            if is_whole && now.manifest.has_all_of(&stored.manifest) {
                return Ok(self.keep_read(snapshot));
            }
            if !is_whole && !snapshot.is_stale && now.version == stored.version {
                return Err(is_damaged(&self.space));
            }
            // Parts that are the same in the next manifest need not be read again.
            if is_whole {
                known = Some(snapshot);
            }
            stored = now;
        }
        Err(is_restless(&self.space))
    }

    fn keep_read(&self, snapshot: Arc<IndexSnapshot>) -> Arc<IndexSnapshot> {
        // An index that is not there yet is another one each time that somebody begins it.
        if !snapshot.is_stale && snapshot.is_stored() {
            self.cache.keep_snapshot(&self.space, &snapshot);
        }
        snapshot
    }

    async fn read_directories(
        &self,
        stored: &StoredManifest,
        known: Option<&IndexSnapshot>,
    ) -> Result<IndexSnapshot> {
        let is_same =
            |known: &&IndexSnapshot| known.manifest.incarnation == stored.manifest.incarnation;
        let known = known.filter(is_same);
        let known_vectors = known.map_or(&[][..], |known| &known.vectors);
        let known = known.map_or(&[][..], |known| &known.directories);
        let mut directories = Vec::new();
        for part in &stored.manifest.parts {
            let is_it = |known: &&Arc<PartDirectory>| {
                (known.part, known.revision) == (part.id, part.revision)
            };
            directories.push(match known.iter().find(is_it) {
                Some(known) => known.clone(),
                None => Arc::new(PartDirectory {
                    part: part.id,
                    revision: part.revision,
                    pages: self.pages_of_part(part.id).await?,
                }),
            });
        }
        let vectors = self.read_vectors(&stored.manifest, known_vectors);
        Ok(IndexSnapshot {
            vectors: vectors.await?,
            manifest: stored.manifest.clone(),
            version: stored.version,
            is_stale: stored.is_stale,
            directories,
        })
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
        let pattern = Pattern::parse(&format!("{}*", page_prefix(part)));
        let mut values = ValuePages::of(
            self.driver.as_ref(),
            &self.space,
            pattern,
            ValuePart::Nothing,
        );
        let mut pages = Vec::new();
        while let Some(found) = values.next().await? {
            for (name, entry) in found {
                let (_, start) = parse_page_name(&name).ok_or_else(|| {
                    Error::corrupt(format!("{}#{name}", self.space), "it names no page")
                })?;
                let version = entry.version;
                pages.push(PagePlace { start, version });
            }
        }
        Ok(pages)
    }
}
