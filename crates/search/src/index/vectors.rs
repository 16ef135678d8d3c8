//! Vectors in an index. They come behind their chunks, in any order, and some never; a change adds them to the caller's batch.

use super::removal::STEP;
use super::vector_directory::{CodePageKey, vector_name};
use super::{IndexChange, IndexSnapshot, SearchIndex};
use crate::manifest::ChunkRange;
use crate::vectors::{ChunkVector, CodePage, EmbeddingSpace, PAGE, VectorCode, vector_to_json};
use ambit_storage::batch::BatchWrite;
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl SearchIndex {
    /// Those of some chunks that have no vector in an embedding space yet.
    pub async fn chunks_without_vectors(
        &self,
        snapshot: &IndexSnapshot,
        space: &EmbeddingSpace,
        range: &ChunkRange,
    ) -> Result<Vec<u32>> {
        let mut without = Vec::new();
        let mut page = None;
        for chunk in range.numbers() {
            if page.is_none() || chunk.is_multiple_of(PAGE) {
                page = Some(self.code_page_with(snapshot, space, chunk).await?);
            }
            let place = place_on_page(chunk);
            if page.as_ref().is_some_and(|page| !page.has(place)) {
                without.push(chunk);
            }
        }
        Ok(without)
    }

    /// The vector of a chunk as it was given, to be used again for another with the same text.
    pub async fn vector_of_chunk(
        &self,
        snapshot: &IndexSnapshot,
        space: &EmbeddingSpace,
        chunk: u32,
    ) -> Result<Option<Arc<[f32]>>> {
        let Some(set) = snapshot.vector_set(space) else {
            return Ok(None);
        };
        let page = self.code_page_with(snapshot, space, chunk).await?;
        match page.has(place_on_page(chunk)) {
            true => self.vector(snapshot, set, chunk).await.map(Some),
            false => Ok(None),
        }
    }

    /// The page for the vector of a chunk; an empty one where there is none.
    async fn code_page_with(
        &self,
        snapshot: &IndexSnapshot,
        space: &EmbeddingSpace,
        chunk: u32,
    ) -> Result<Arc<CodePage>> {
        let set = snapshot.vector_set(space);
        let place = set.and_then(|set| snapshot.code_page(CodePageKey::of(set.id, chunk)));
        match place {
            Some(place) => self.code_page(place, space.dimension).await,
            None => Ok(Arc::default()),
        }
    }

    fn value_write(&self, name: String, operation: Operation) -> BatchWrite {
        BatchWrite::apply(self.space.key(name), operation, None)
    }
}

impl IndexChange {
    /// Adds vectors of chunks that are there. A chunk that has a vector in this space keeps it. The batch must hold under the
    /// condition that the chunks are not erased meanwhile: that the record of their document is as it was read.
    pub async fn add_vectors(
        &mut self,
        space: &EmbeddingSpace,
        vectors: &[ChunkVector],
    ) -> Result<()> {
        for vector in vectors {
            space.check(&vector.vector)?;
            if vector.chunk >= self.manifest.next_chunk {
                let reason = "is no chunk of the index";
                return Err(Error::invalid(format!("chunk {}", vector.chunk), reason));
            }
        }
        let set = self.manifest.vectors_of(space).id;
        for some in vectors.chunk_by(are_on_one_page) {
            let key = CodePageKey::of(set, some[0].chunk);
            let page = self.code_page(key, space).await?;
            let is_new = |it: &&ChunkVector| !page.has(place_on_page(it.chunk));
            let new: Vec<&ChunkVector> = some.iter().filter(is_new).collect();
            if new.is_empty() {
                continue;
            }
            // Copied by the first vectors that it gets from this change, and by no later ones.
            let page = Arc::make_mut(self.code_pages.entry(key).or_insert(page));
            page.reserve(new.len(), space.dimension);
            for ChunkVector { chunk, vector } in new {
                if page.add(place_on_page(*chunk), &VectorCode::of(vector)) {
                    let put = Operation::Set(vector_to_json(vector).into());
                    let write = self.index.value_write(vector_name(set, *chunk), put);
                    self.writes.push(write);
                }
            }
        }
        Ok(())
    }

    /// Takes the vectors of chunks out, as many as fit into the step; false where some are left.
    pub(super) async fn erase_vectors(&mut self, numbers: &Range<u32>) -> Result<bool> {
        for set in self.before.manifest.vectors.clone() {
            let last = numbers.end.saturating_sub(1) / PAGE;
            for page in numbers.start / PAGE..=last {
                if self.writes.len() >= STEP {
                    return Ok(false);
                }
                let key = CodePageKey { set: set.id, page };
                let mut page = self.code_page(key, &set.space).await?;
                let removed = Arc::make_mut(&mut page).remove(&key.places_of(numbers));
                if removed.is_empty() {
                    continue;
                }
                self.code_pages.insert(key, page);
                for place in removed {
                    let name = vector_name(key.set, key.first() + u32::from(place));
                    let write = self.index.value_write(name, Operation::Del);
                    self.writes.push(write);
                }
            }
        }
        Ok(true)
    }

    /// A page as it will be so far.
    async fn code_page(&self, key: CodePageKey, space: &EmbeddingSpace) -> Result<Arc<CodePage>> {
        if let Some(page) = self.code_pages.get(&key) {
            return Ok(page.clone());
        }
        match self.before.code_page(key) {
            Some(place) => self.index.code_page(place, space.dimension).await,
            None => Ok(Arc::default()),
        }
    }

    /// Writes the pages that were changed, and says so in the manifest. The answer is these pages.
    pub(super) fn put_code_pages(&mut self) -> BTreeMap<CodePageKey, Arc<CodePage>> {
        let changed = std::mem::take(&mut self.code_pages);
        for set in &mut self.manifest.vectors {
            let id = set.id;
            let mut pages = changed.iter().filter(|(key, _)| key.set == id).peekable();
            if pages.peek().is_some() {
                set.revision += 1;
            }
            for (key, page) in pages {
                let was_there = self.before.code_page(*key).is_some();
                set.change_page(key.page, was_there, !page.is_empty());
            }
        }
        for (key, page) in &changed {
            let put = match page.is_empty() {
                true => Operation::Del,
                false => Operation::Set(page.to_json().into()),
            };
            let write = self.index.value_write(key.name(), put);
            self.writes.push(write);
        }
        changed
    }
}

fn are_on_one_page(one: &ChunkVector, other: &ChunkVector) -> bool {
    one.chunk / PAGE == other.chunk / PAGE
}

fn place_on_page(chunk: u32) -> u8 {
    (chunk % PAGE) as u8
}
