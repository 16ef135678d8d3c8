//! A change of an index: what it adds goes into the caller's own batch, so that both are there or neither is.

use super::{IndexSnapshot, MANIFEST, SearchIndex};
use crate::manifest::{ChunkRange, ChunkTotals, IndexPart, Manifest};
use crate::page::{PageWriter, Posting, PostingPosition, WrittenPage};
use crate::terms::TermCounts;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Json, Result};
use std::sync::Arc;

/// Changes on the way to a commit. It fails with `Conflict` if somebody has changed the index meanwhile; then all is to be
/// done again.
pub struct IndexChange {
    pub(super) index: SearchIndex,
    pub(super) before: Arc<IndexSnapshot>,
    /// What the index will consist of.
    pub manifest: Manifest,
    pub(super) writes: Vec<BatchWrite>,
}

impl SearchIndex {
    /// Begins a change of the index as it is now.
    pub async fn change(&self) -> Result<IndexChange> {
        let before = self.snapshot().await?;
        Ok(IndexChange {
            index: self.clone(),
            manifest: before.manifest.clone(),
            before,
            writes: Vec::new(),
        })
    }
}

impl IndexChange {
    /// Adds chunks, given by their terms, as one part. Those hidden are not found until `show`.
    pub fn add(&mut self, chunks: &[TermCounts], is_hidden: bool) -> Result<ChunkRange> {
        let first = self.manifest.next_chunk;
        let count = u32::try_from(chunks.len()).ok();
        let end = count.and_then(|count| first.checked_add(count));
        let (Some(count), Some(end)) = (count, end) else {
            return Err(Error::limited(
                "an index with too many chunks",
                u64::from(first),
                u64::from(u32::MAX),
            ));
        };
        let lengths: Vec<u32> = chunks.iter().map(length_of).collect();
        let range = ChunkRange {
            first,
            totals: ChunkTotals {
                chunks: count,
                length: lengths.iter().map(|length| u64::from(*length)).sum(),
            },
        };
        self.manifest.next_chunk = end;
        self.manifest.totals = self.manifest.totals.plus(range.totals);
        if is_hidden {
            self.manifest.hidden.push(range);
        }
        let id = self.manifest.take_part();
        self.manifest.parts.push(IndexPart {
            id,
            first,
            end,
            chunks: count,
            revision: 0,
        });
        for page in pages(chunks, first, &lengths) {
            self.put_page(id, &page)?;
        }
        Ok(range)
    }

    /// Lets hidden chunks be found.
    pub fn show(&mut self, range: &ChunkRange) {
        self.manifest
            .hidden
            .retain(|hidden| hidden.first != range.first);
    }

    /// Lets chunks be found no more.
    pub fn hide(&mut self, range: &ChunkRange) {
        self.show(range);
        self.manifest.hidden.push(*range);
    }

    pub(super) fn put_page(&mut self, part: u32, page: &WrittenPage) -> Result<()> {
        let key = self.index.page_key(part, &page.start);
        let set = Operation::Set(page.page.to_json()?.into());
        self.writes.push(BatchWrite::apply(key, set, None));
        Ok(())
    }

    pub(super) fn delete_page(&mut self, part: u32, start: &PostingPosition) {
        let key = self.index.page_key(part, start);
        self.writes
            .push(BatchWrite::apply(key, Operation::Del, None));
    }

    /// All of it, the manifest first; whoever adds to the batch puts it behind.
    pub fn batch(self) -> Result<Batch> {
        let key = self.index.space.key(MANIFEST);
        let manifest = Operation::Set(Json::of(&self.manifest)?.into());
        let manifest = BatchWrite::apply(key.clone(), manifest, None);
        let batch = Batch::of([manifest].into_iter().chain(self.writes));
        Ok(batch.checking(BatchCheck::version(key, self.before.version)))
    }

    /// Commits what is in it alone.
    pub async fn commit(self) -> Result<()> {
        let driver = self.index.driver.clone();
        driver.commit(self.batch()?).await.map(drop)
    }
}

/// The length of a chunk with these terms.
fn length_of(counts: &TermCounts) -> u32 {
    counts.values().sum()
}

/// The pages of some chunks, of which the first has this number.
fn pages(chunks: &[TermCounts], first: u32, lengths: &[u32]) -> Vec<WrittenPage> {
    let mut postings: Vec<(&str, Posting)> = Vec::new();
    for ((chunk, counts), length) in (first..).zip(chunks).zip(lengths) {
        let found = counts.iter().map(|(term, count)| {
            let (count, length) = (*count, *length);
            (
                term.as_str(),
                Posting {
                    chunk,
                    count,
                    length,
                },
            )
        });
        postings.extend(found);
    }
    postings.sort_by_key(|(term, posting)| (*term, posting.chunk));
    let mut writer = PageWriter::default();
    for of_term in postings.chunk_by(|one, other| one.0 == other.0) {
        writer.add(of_term[0].0, of_term.iter().map(|(_, posting)| *posting));
    }
    writer.finish()
}
