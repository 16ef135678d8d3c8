//! A change of an index: what it adds goes into the caller's own batch, so that both are there or neither is.

use super::directory::TRIES;
use super::vector_directory::CodePageKey;
use super::{IndexSnapshot, PreparedCommit, SearchIndex, is_restless};
use crate::manifest::{ChunkRange, ChunkTotals, IndexPart, Manifest};
use crate::page::{PageWriter, Posting, PostingPosition, WrittenPage};
use crate::terms::{ChunkTerms, TERMS_VERSION};
use crate::vectors::CodePage;
use ambit_storage::address::INDEX_MANIFEST;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Json, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes on the way to a commit. It fails with `Conflict` if somebody has changed the index meanwhile; then all is to be
/// done again.
#[derive(Clone)]
pub struct IndexChange {
    pub(super) index: SearchIndex,
    pub(super) before: Arc<IndexSnapshot>,
    /// What the index will consist of.
    pub manifest: Manifest,
    pub(super) writes: Vec<BatchWrite>,
    /// The pages of codes as they will be.
    pub(super) code_pages: BTreeMap<CodePageKey, Arc<CodePage>>,
}

impl SearchIndex {
    /// Begins a change of the index as it is now.
    pub async fn change(&self) -> Result<IndexChange> {
        let before = self.snapshot().await?;
        if before.is_stale {
            return Err(Error::Unavailable {
                what: format!(
                    "the index {}, whose newest state is not at hand,",
                    self.space
                ),
                source: None,
            });
        }
        Ok(IndexChange {
            index: self.clone(),
            manifest: before.manifest.clone(),
            before,
            writes: Vec::new(),
            code_pages: BTreeMap::new(),
        })
    }
}

impl IndexChange {
    /// Adds chunks as one part.
    pub fn add(&mut self, chunks: &ChunkTerms) -> Result<ChunkRange> {
        let version = self.manifest.terms_version;
        if version != TERMS_VERSION {
            let reason =
                format!("has terms of version {version}, not {TERMS_VERSION}; make it anew");
            return Err(Error::invalid(
                format!("the index {}", self.index.space),
                reason,
            ));
        }
        let first = self.manifest.next_chunk;
        let lengths = chunks.lengths();
        if lengths.is_empty() {
            let totals = ChunkTotals::default();
            return Ok(ChunkRange { first, totals });
        }
        let count = u32::try_from(lengths.len()).ok();
        let end = count.and_then(|count| first.checked_add(count));
        let (Some(count), Some(end)) = (count, end) else {
            return Err(Error::limited(
                "an index with too many chunks",
                u64::from(first),
                u64::from(u32::MAX),
            ));
        };
        let range = ChunkRange {
            first,
            totals: ChunkTotals {
                chunks: count,
                length: lengths.iter().map(|length| u64::from(*length)).sum(),
            },
        };
        self.manifest.next_chunk = end;
        self.manifest.totals = self.manifest.totals.plus(range.totals);
        let id = self.manifest.take_part();
        let pages = pages(chunks, first);
        self.manifest.parts.push(IndexPart {
            id,
            first,
            end,
            chunks: count,
            pages: pages.len() as u32,
            revision: 0,
        });
        for page in &pages {
            self.put_page(id, page);
        }
        Ok(range)
    }

    /// Lets hidden chunks be found.
    pub(crate) fn show(&mut self, range: &ChunkRange) {
        self.manifest.hidden.retain(|hidden| hidden != range);
    }

    /// Lets chunks be found no more. The batch must hold under the condition that they are not erased meanwhile, as for vectors.
    pub fn hide(&mut self, range: &ChunkRange) {
        self.show(range);
        self.manifest.hidden.push(*range);
    }

    pub(super) fn put_page(&mut self, part: u32, page: &WrittenPage) {
        let key = self.index.page_key(part, &page.start);
        let set = Operation::Set(page.page.to_json().into());
        self.writes.push(BatchWrite::apply(key, set, None));
    }

    pub(super) fn delete_page(&mut self, part: u32, start: &PostingPosition) {
        let key = self.index.page_key(part, start);
        self.writes
            .push(BatchWrite::apply(key, Operation::Del, None));
    }

    /// All of it, the manifest first; whoever adds to the batch puts it behind. The next reader of this node then reads which
    /// pages there are, which `prepare` spares.
    pub fn batch(self) -> Result<Batch> {
        self.prepare().map(|prepared| prepared.batch)
    }

    /// All of it, to be committed with what its caller adds.
    pub fn prepare(mut self) -> Result<PreparedCommit> {
        let code_pages = self.put_code_pages();
        let key = self.index.space.key(INDEX_MANIFEST);
        let manifest = Operation::Set(Json::of(&self.manifest)?.into());
        let manifest = BatchWrite::apply(key.clone(), manifest, None);
        let batch = Batch::of([manifest].into_iter().chain(self.writes));
        Ok(PreparedCommit {
            batch: batch.checking(BatchCheck::version(key, self.before.version)),
            index: self.index,
            before: self.before,
            manifest: self.manifest,
            code_pages,
        })
    }

    /// Commits what is in it alone.
    pub async fn commit(self) -> Result<()> {
        self.prepare()?.commit().await
    }
}

impl IndexChange {
    /// Commits what was prepared on the index as it is by now, and something beside it, so that writers in a row do not starve
    /// it. `apply` does the rest to the manifest; where it says that the prepared does not fit, it fails with `Conflict`.
    pub(super) async fn commit_rebased(
        &self,
        beside: &Batch,
        apply: impl Fn(&mut Self) -> Result<bool> + Send + Sync,
    ) -> Result<()> {
        let mut next = self.clone();
        for _ in 0..TRIES {
            if !apply(&mut next)? {
                break;
            }
            let version = next.before.version;
            let mut prepared = next.prepare()?;
            let batch = &mut prepared.batch;
            batch.checks.extend(beside.checks.iter().cloned());
            batch.writes.extend(beside.writes.iter().cloned());
            let conflict = match prepared.commit().await {
                Err(error @ Error::Conflict { .. }) => error,
                done => return done,
            };
            next = self.index.change().await?;
            // Where the index is as it was, what stands beside has met another change.
            if next.before.version == version {
                return Err(conflict);
            }
            next.writes.clone_from(&self.writes);
            next.code_pages.clone_from(&self.code_pages);
        }
        Err(is_restless(&self.index.space))
    }
}

/// The pages of some chunks, of which the first has this number.
fn pages(chunks: &ChunkTerms, first: u32) -> Vec<WrittenPage> {
    let lengths = chunks.lengths();
    let mut writer = PageWriter::default();
    chunks.each_term(&mut |term, counts| {
        let postings = counts.iter().map(|it| Posting {
            chunk: first + it.chunk,
            count: it.count,
            length: lengths[it.chunk as usize],
        });
        writer.add(term, postings);
    });
    writer.finish()
}
