//! What is erased from an index leaves no term and no pointer behind: the pages that had them are written anew.

use super::directory::{PartDirectory, TRIES};
use super::{IndexChange, IndexSnapshot, SearchIndex, is_restless, page_prefix};
use crate::manifest::{ChunkRange, IndexPart, Manifest};
use crate::page::{PageWriter, Posting, PostingPage};
use crate::terms::TERMS_VERSION;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// So many pages are written by one commit.
pub(super) const STEP: usize = 256;

/// Pages without the chunks. What others change elsewhere meanwhile does not matter to them.
pub(crate) struct ErasureStep {
    change: IndexChange,
    ranges: Vec<ChunkRange>,
    is_last: bool,
}

/// Chunks to be erased.
pub struct ChunkErasure {
    /// Which, in ascending order. They are hidden, and erased together.
    pub ranges: Vec<ChunkRange>,
    /// All terms that any of them has; `None` where nobody knows them any more, so that all pages are looked at.
    pub terms: Option<BTreeSet<String>>,
}

impl ChunkErasure {
    /// Whether a chunk is among them.
    fn has(&self, chunk: u32) -> bool {
        let behind = self.ranges.partition_point(|range| range.first <= chunk);
        let range = self.ranges[..behind].last();
        range.is_some_and(|range| range.numbers().contains(&chunk))
    }
}

/// The numbers from the first chunk to the last.
fn hull(ranges: &[ChunkRange]) -> Range<u32> {
    match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => first.first..last.numbers().end,
        _ => 0..0,
    }
}

fn are_hidden(ranges: &[ChunkRange], manifest: &Manifest) -> bool {
    ranges.iter().all(|range| manifest.hidden.contains(range))
}

impl SearchIndex {
    /// Erases chunks that a change has hidden, in steps; `beside` is committed with the last one. Those that are not hidden
    /// any more were erased before: nothing is done, so that it may be called again after any failure.
    pub async fn erase(&self, erasure: &ChunkErasure, beside: &Batch) -> Result<()> {
        let mut conflicts = 0;
        loop {
            let change = self.change().await?;
            let version = change.before.version;
            if !are_hidden(&erasure.ranges, &change.manifest) {
                break;
            }
            match change.erase_step(erasure, beside).await {
                Ok(()) => conflicts = 0,
                Err(error @ Error::Conflict { .. }) => {
                    conflicts += 1;
                    let now = self.manifest_version().await?;
                    // Where the index is as it was, what stands beside has met another change.
                    if now == version || conflicts == TRIES {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        // So that what is kept in memory forgets them too.
        if !self.snapshot().await.is_ok_and(|now| !now.is_stale) {
            self.cache.forget(&self.space);
        }
        Ok(())
    }
}

impl ErasureStep {
    /// Commits it on the index as it is by now, with what stands beside where it is the last. It fails with `Conflict` where
    /// something has changed where the chunks are.
    pub(crate) async fn commit(self, beside: &Batch) -> Result<()> {
        let nothing = Batch::default();
        let beside = if self.is_last { beside } else { &nothing };
        let apply = |next: &mut IndexChange| {
            let fits = self.fits(&next.before);
            if fits {
                self.apply(next)?;
            }
            Ok(fits)
        };
        self.change.commit_rebased(beside, apply).await
    }

    fn fits(&self, now: &IndexSnapshot) -> bool {
        let (then, numbers) = (&self.change.before, hull(&self.ranges));
        let parts = |of: &Manifest| of.parts_of(&numbers).cloned().collect::<Vec<IndexPart>>();
        now.manifest.incarnation == then.manifest.incarnation
            && are_hidden(&self.ranges, &now.manifest)
            && now.manifest.merge_of(&numbers) == then.manifest.merge_of(&numbers)
            && parts(&now.manifest) == parts(&then.manifest)
            && now.code_pages_with(&numbers) == then.code_pages_with(&numbers)
    }

    /// Says in the manifest what was done to the parts.
    fn apply(&self, next: &mut IndexChange) -> Result<()> {
        let (ours, numbers) = (&self.change.manifest, hull(&self.ranges));
        for part in &mut next.manifest.parts {
            if let Some(ours) = ours.parts_of(&numbers).find(|it| it.id == part.id) {
                part.clone_from(ours);
            }
        }
        if ours.merge_of(&numbers).is_some() {
            next.manifest.merge.clone_from(&ours.merge);
        }
        if !self.is_last {
            return Ok(());
        }
        for range in &self.ranges {
            next.forget(range).ok_or_else(|| {
                let numbers = range.numbers();
                let reason = format!("chunks {numbers:?} were erased before and hidden again");
                Error::corrupt(format!("the index {}", next.index.space), reason)
            })?;
        }
        Ok(())
    }
}

impl IndexChange {
    /// One commit of an erasure.
    async fn erase_step(self, erasure: &ChunkErasure, beside: &Batch) -> Result<()> {
        // What is in no use any more may have the chunks too.
        if self.sweep_obsolete().await? {
            return Ok(());
        }
        self.erasure_step(erasure).await?.commit(beside).await
    }

    /// The pages that one commit of an erasure writes anew.
    pub(crate) async fn erasure_step(mut self, erasure: &ChunkErasure) -> Result<ErasureStep> {
        let mut is_last = true;
        for directory in self.directories_with(&hull(&erasure.ranges)).await? {
            is_last &= self.erase_from(&directory, erasure).await?;
        }
        for range in &erasure.ranges {
            is_last = is_last && self.erase_vectors(&range.numbers()).await?;
        }
        Ok(ErasureStep {
            change: self,
            ranges: erasure.ranges.clone(),
            is_last,
        })
    }

    /// The directories of the parts that may have such chunks, and of one that is being made.
    async fn directories_with(&self, numbers: &Range<u32>) -> Result<Vec<Arc<PartDirectory>>> {
        let mut found = Vec::new();
        for part in self.manifest.parts_with(numbers) {
            let known = self.before.directories.iter().find(|it| it.part == part);
            found.push(match known {
                Some(known) => known.clone(),
                None => Arc::new(PartDirectory {
                    part,
                    revision: 0,
                    pages: self.index.pages_of_part(part).await?,
                }),
            });
        }
        Ok(found)
    }

    /// Writes anew the pages of a part that have the chunks, as many as fit into the step; false where some are left.
    async fn erase_from(
        &mut self,
        directory: &PartDirectory,
        erasure: &ChunkErasure,
    ) -> Result<bool> {
        let numbers = hull(&erasure.ranges);
        let is_of_now = self.manifest.terms_version == TERMS_VERSION;
        let pages: BTreeSet<usize> = match erasure.terms.as_ref().filter(|_| is_of_now) {
            Some(terms) => {
                let terms = terms.iter();
                let pages = terms.flat_map(|term| directory.pages_with(term, &numbers));
                pages.collect()
            }
            None => (0..directory.pages.len()).collect(),
        };
        for at in pages {
            if self.writes.len() >= STEP {
                return Ok(false);
            }
            let page = self.index.page(directory, at).await?;
            let page = page.ok_or_else(|| is_restless(&self.index.space))?;
            self.erase_from_page(directory, at, &page, erasure);
        }
        Ok(true)
    }

    fn erase_from_page(
        &mut self,
        directory: &PartDirectory,
        at: usize,
        page: &PostingPage,
        erasure: &ChunkErasure,
    ) {
        let start = &directory.pages[at].start;
        let mut writer = match start.chunk {
            0 => PageWriter::default(),
            _ => PageWriter::behind(start.term.clone()),
        };
        let mut is_changed = false;
        let mut terms = page.terms();
        while let Some((term, block)) = terms.next_term() {
            let others = block.postings();
            let others: Vec<Posting> = others.filter(|it| !erasure.has(it.chunk)).collect();
            is_changed |= others.len() < block.count as usize;
            writer.add(term, others);
        }
        if !is_changed {
            return;
        }
        let written = writer.finish();
        if written.first().map(|page| &page.start) != Some(start) {
            self.delete_page(directory.part, start);
        }
        for page in &written {
            self.put_page(directory.part, page);
        }
        let pages = |before: u32| before - 1 + written.len() as u32;
        let is_it = |part: &&mut IndexPart| part.id == directory.part;
        if let Some(part) = self.manifest.parts.iter_mut().find(is_it) {
            part.pages = pages(part.pages);
            part.revision = directory.revision + 1;
        } else if let Some(merge) = &mut self.manifest.merge {
            merge.pages = pages(merge.pages);
            merge.revision += 1;
            merge.after = None;
        }
    }

    /// The chunks are erased: what they counted for goes. `None` where that is more than there is.
    fn forget(&mut self, range: &ChunkRange) -> Option<()> {
        self.show(range);
        let manifest = &mut self.manifest;
        let (numbers, mut left) = (range.numbers(), range.totals.chunks);
        for part in &mut manifest.parts {
            let (first, end) = (part.first.max(numbers.start), part.end.min(numbers.end));
            let erased = end.saturating_sub(first);
            part.chunks = part.chunks.checked_sub(erased)?;
            left = left.checked_sub(erased)?;
        }
        manifest.totals = manifest.totals.minus(range.totals);
        manifest.drop_empty_parts();
        (left == 0).then_some(())
    }

    /// Deletes values that are in no use any more, by a commit of its own; false where there are none.
    pub(super) async fn sweep_obsolete(&self) -> Result<bool> {
        if self.manifest.obsolete.is_empty() {
            return Ok(false);
        }
        let (mut sweep, mut swept) = (self.clone(), Vec::new());
        for part in &self.manifest.obsolete {
            if !sweep.sweep(&page_prefix(*part)).await? {
                break;
            }
            swept.push(*part);
        }
        let apply = |next: &mut Self| {
            next.manifest.obsolete.retain(|it| !swept.contains(it));
            Ok(next.manifest.incarnation == self.manifest.incarnation)
        };
        let done = sweep.commit_rebased(&Batch::default(), apply).await;
        done.map(|()| true)
    }

    /// Deletes values whose names begin so, as many as fit into the step; true where none are left.
    async fn sweep(&mut self, prefix: &str) -> Result<bool> {
        let room = STEP.saturating_sub(self.writes.len());
        if room == 0 {
            return Ok(false);
        }
        let pattern = Pattern::parse(&format!("{prefix}*"));
        let scan = ValueScan::first(pattern, room, ValuePart::Nothing);
        let found = self.index.driver.scan(&self.index.space, &scan).await?;
        let is_over = found.len() < room;
        let deletions = found
            .into_iter()
            .map(|(name, _)| BatchWrite::apply(self.index.space.key(name), Operation::Del, None));
        self.writes.extend(deletions);
        Ok(is_over)
    }
}
