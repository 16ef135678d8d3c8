//! Where the vectors of an index are, as of one moment.

use super::page_cache::{CachedPage, PageId};
use super::{IndexSnapshot, SearchIndex, is_restless};
use crate::manifest::{GROUP, Manifest, VectorSet};
use crate::vectors::{CodePage, EmbeddingSpace, PAGE, vector_of};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The pages of a group of vectors, in order.
#[derive(Debug, PartialEq)]
pub(super) struct VectorDirectory {
    pub set: u32,
    pub group: u32,
    pub revision: u32,
    pub pages: Vec<CodePagePlace>,
}

/// A page of codes as of one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CodePagePlace {
    pub key: CodePageKey,
    /// Of its value.
    pub(super) version: u64,
}

/// Which page of codes: the one with the chunks from `PAGE` times its number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodePageKey {
    pub set: u32,
    pub page: u32,
}

impl CodePageKey {
    /// Where the vector of a chunk is, or is to be.
    pub fn of(set: u32, chunk: u32) -> Self {
        let page = chunk / PAGE;
        Self { set, page }
    }

    /// Its first chunk.
    pub fn first(self) -> u32 {
        self.page * PAGE
    }

    /// Those of some chunks, as places on the page.
    pub fn places_of(self, chunks: &Range<u32>) -> Range<u32> {
        let place = |chunk: u32| chunk.saturating_sub(self.first()).min(PAGE);
        place(chunks.start)..place(chunks.end)
    }

    pub(super) fn name(self) -> String {
        format!("{}codes/{:08x}", vectors_prefix(self.set), self.page)
    }

    /// What `name` made.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (set, page) = name.strip_prefix("vectors/")?.split_once("/codes/")?;
        Some(Self {
            set: set.parse().ok()?,
            page: u32::from_str_radix(page, 16).ok()?,
        })
    }
}

/// The beginning of the names of all values of a set.
fn vectors_prefix(set: u32) -> String {
    format!("vectors/{set}/")
}

pub(super) fn vector_name(set: u32, chunk: u32) -> String {
    format!("{}of/{chunk:08x}", vectors_prefix(set))
}

impl IndexSnapshot {
    /// The vectors of an embedding space, if there are any.
    pub(crate) fn vector_set(&self, space: &EmbeddingSpace) -> Option<&VectorSet> {
        self.manifest.vectors.iter().find(|set| set.space == *space)
    }

    /// The pages of a set, in the order of their chunks.
    pub(crate) fn code_pages(&self, set: u32) -> impl Iterator<Item = CodePagePlace> {
        let directories = self.vectors.iter().filter(move |it| it.set == set);
        directories.flat_map(|directory| directory.pages.iter().copied())
    }

    /// The pages of all sets on which some chunks may have vectors.
    pub(super) fn code_pages_with(&self, chunks: &Range<u32>) -> Vec<CodePagePlace> {
        let numbers = chunks.start / PAGE..chunks.end.div_ceil(PAGE);
        let pages = self.vectors.iter().flat_map(|it| it.pages.iter().copied());
        pages.filter(|it| numbers.contains(&it.key.page)).collect()
    }

    /// A page, if it is there.
    pub(super) fn code_page(&self, key: CodePageKey) -> Option<CodePagePlace> {
        let is_it = |it: &&Arc<VectorDirectory>| it.set == key.set && it.group == key.page / GROUP;
        let directory = self.vectors.iter().find(is_it)?;
        let at = directory.pages.binary_search_by_key(&key, |it| it.key);
        at.ok().map(|at| directory.pages[at])
    }

    /// What a later snapshot does not have as it is here: pages of codes, and the vectors of their chunks.
    pub(super) fn vectors_gone_in(&self, later: &Self, space: &Space) -> Vec<PageId> {
        let incarnation = self.manifest.incarnation;
        let mut gone = Vec::new();
        for directory in &self.vectors {
            if later.vectors.iter().any(|now| Arc::ptr_eq(now, directory)) {
                continue;
            }
            let is_gone = |page: &&CodePagePlace| later.code_page(page.key) != Some(**page);
            for page in directory.pages.iter().filter(is_gone) {
                let id = |name: String, version: u64| PageId {
                    space: space.clone(),
                    name,
                    version,
                };
                gone.push(id(page.key.name(), page.version));
                let chunks = (0..PAGE).map(|place| page.key.first() + place);
                gone.extend(chunks.map(|it| id(vector_name(page.key.set, it), incarnation)));
            }
        }
        gone
    }
}

impl SearchIndex {
    /// The directories of all vectors; those that are known are not read again.
    pub(super) async fn read_vectors(
        &self,
        manifest: &Manifest,
        known: &[Arc<VectorDirectory>],
    ) -> Result<Vec<Arc<VectorDirectory>>> {
        let mut directories = Vec::new();
        for set in &manifest.vectors {
            for group in &set.groups {
                let id = (set.id, group.number, group.revision);
                let is_it = |it: &&Arc<VectorDirectory>| (it.set, it.group, it.revision) == id;
                directories.push(match known.iter().find(is_it) {
                    Some(known) => known.clone(),
                    None => Arc::new(VectorDirectory {
                        set: set.id,
                        group: group.number,
                        revision: group.revision,
                        pages: self.code_pages_of(set.id, group.number).await?,
                    }),
                });
            }
        }
        Ok(directories)
    }

    async fn code_pages_of(&self, set: u32, group: u32) -> Result<Vec<CodePagePlace>> {
        // The pages of a group have the same digits but for the last two.
        let pattern = format!("{}codes/{group:06x}*", vectors_prefix(set));
        let pattern = Pattern::parse(&pattern);
        let (driver, part) = (self.driver.as_ref(), ValuePart::Nothing);
        let mut values = ValuePages::of(driver, &self.space, pattern, part);
        let mut pages = Vec::new();
        while let Some(found) = values.next().await? {
            for (name, entry) in found {
                let key = CodePageKey::parse(&name).ok_or_else(|| {
                    Error::corrupt(format!("{}#{name}", self.space), "it names no page")
                })?;
                let version = entry.version;
                pages.push(CodePagePlace { key, version });
            }
        }
        Ok(pages)
    }

    /// A page of codes; `Conflict` where it is an old one by now.
    pub(crate) async fn code_page(
        &self,
        place: CodePagePlace,
        dimension: u32,
    ) -> Result<Arc<CodePage>> {
        let id = self.code_page_id(place);
        if let Some(CachedPage::Codes(page)) = self.cache.page(&id) {
            return Ok(page);
        }
        let key = self.space.key(id.name.as_str());
        let stored = self.driver.get(&key, ValuePart::Whole).await?;
        let stored = stored.filter(|entry| entry.version == place.version);
        let entry = stored.ok_or_else(|| is_restless(&self.space))?;
        let page = Arc::new(CodePage::of(&entry.value, dimension)?);
        self.keep_code_page(place, &page);
        Ok(page)
    }

    pub(super) fn keep_code_page(&self, place: CodePagePlace, page: &Arc<CodePage>) {
        let has_it = |kept: &IndexSnapshot| kept.code_page(place.key) == Some(place);
        let cached = CachedPage::Codes(page.clone());
        self.cache
            .keep_page(&self.code_page_id(place), cached, has_it);
    }

    fn code_page_id(&self, place: CodePagePlace) -> PageId {
        PageId {
            space: self.space.clone(),
            name: place.key.name(),
            version: place.version,
        }
    }

    /// The vector of a chunk that has one; `Conflict` where it is gone by now.
    pub(crate) async fn vector(
        &self,
        snapshot: &IndexSnapshot,
        set: &VectorSet,
        chunk: u32,
    ) -> Result<Arc<[f32]>> {
        let id = PageId {
            space: self.space.clone(),
            name: vector_name(set.id, chunk),
            version: snapshot.manifest.incarnation,
        };
        if let Some(CachedPage::Vector(vector)) = self.cache.page(&id) {
            return Ok(vector);
        }
        let key = self.space.key(id.name.as_str());
        let stored = self.driver.get(&key, ValuePart::Whole).await?;
        let entry = stored.ok_or_else(|| is_restless(&self.space))?;
        let vector: Arc<[f32]> = vector_of(&entry.value, set.space.dimension)?.into();
        let key = CodePageKey::of(set.id, chunk);
        let version = |snapshot: &IndexSnapshot| snapshot.code_page(key).map(|it| it.version);
        let has_it = |kept: &IndexSnapshot| version(kept) == version(snapshot);
        let cached = CachedPage::Vector(vector.clone());
        self.cache.keep_page(&id, cached, has_it);
        Ok(vector)
    }
}
