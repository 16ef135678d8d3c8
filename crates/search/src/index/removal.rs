//! What is erased from an index leaves no term and no pointer behind: the pages that had them are written anew.

use super::directory::{PartDirectory, TRIES};
use super::{IndexChange, SearchIndex, is_restless, page_prefix};
use crate::manifest::{ChunkRange, IndexPart};
use crate::page::{PageWriter, Posting, PostingPage};
use ambit_storage::batch::BatchWrite;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// So many pages are written by one commit.
const STEP: usize = 256;

/// Chunks to be erased.
pub struct ChunkErasure {
    /// Which.
    pub range: ChunkRange,
    /// All terms that any of them has.
    pub terms: BTreeSet<String>,
}

impl SearchIndex {
    /// Erases chunks: at once where few pages have them, else in steps, behind a first one that hides them. What is to be
    /// written with the last step is given beside. Done again after a failure, it goes on.
    pub async fn erase(&self, erasure: &ChunkErasure, beside: &[BatchWrite]) -> Result<()> {
        let mut conflicts = 0;
        loop {
            match self.erase_step(erasure, beside).await {
                Ok(true) => return Ok(()),
                Ok(false) => conflicts = 0,
                Err(Error::Conflict { .. }) if conflicts < TRIES => conflicts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// One commit of an erasure; true where it was the last.
    async fn erase_step(&self, erasure: &ChunkErasure, beside: &[BatchWrite]) -> Result<bool> {
        let mut change = self.change().await?;
        if change.sweep_obsolete().await? {
            change.commit().await?;
            return Ok(false);
        }
        let numbers = erasure.range.numbers();
        let mut is_last = true;
        for directory in change.directories_with(&numbers).await? {
            is_last &= change.erase_from(&directory, erasure).await?;
        }
        if is_last {
            change.forget(&erasure.range);
            change.writes.extend(beside.iter().cloned());
        } else {
            change.hide(&erasure.range);
        }
        change.commit().await?;
        Ok(is_last)
    }
}

impl IndexChange {
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
        let pages = erasure
            .terms
            .iter()
            .flat_map(|term| directory.pages_of(term));
        let pages: BTreeSet<usize> = pages.collect();
        for at in pages {
            if self.writes.len() >= STEP {
                return Ok(false);
            }
            let page = self.index.page(directory, at).await?;
            let page = page.ok_or_else(|| is_restless(&self.index.space))?;
            self.erase_from_page(directory, at, &page, &erasure.range.numbers())?;
        }
        Ok(true)
    }

    fn erase_from_page(
        &mut self,
        directory: &PartDirectory,
        at: usize,
        page: &PostingPage,
        numbers: &Range<u32>,
    ) -> Result<()> {
        let start = &directory.pages[at].start;
        let mut writer = match start.chunk {
            0 => PageWriter::default(),
            _ => PageWriter::behind(start.term.clone()),
        };
        let mut is_changed = false;
        let mut terms = page.terms();
        while let Some((term, block)) = terms.next_term() {
            let others = block.postings();
            let others: Vec<Posting> = others.filter(|it| !numbers.contains(&it.chunk)).collect();
            is_changed |= others.len() < block.count as usize;
            writer.add(term, others);
        }
        if !is_changed {
            return Ok(());
        }
        let written = writer.finish();
        if written.first().map(|page| &page.start) != Some(start) {
            self.delete_page(directory.part, start);
        }
        for page in written {
            self.put_page(directory.part, &page)?;
        }
        let is_it = |part: &&mut IndexPart| part.id == directory.part;
        if let Some(part) = self.manifest.parts.iter_mut().find(is_it) {
            part.revision = directory.revision + 1;
        }
        Ok(())
    }

    /// The chunks are erased: what they counted for goes.
    fn forget(&mut self, range: &ChunkRange) {
        self.show(range);
        let manifest = &mut self.manifest;
        manifest.totals = manifest.totals.minus(range.totals);
        let has = |part: &&mut IndexPart| (part.first..part.end).contains(&range.first);
        if let Some(part) = manifest.parts.iter_mut().find(has) {
            part.chunks -= range.totals.chunks;
        }
        manifest.drop_empty_parts();
    }

    /// Deletes pages that are in no use any more; false where there are none.
    pub(super) async fn sweep_obsolete(&mut self) -> Result<bool> {
        let Some(&part) = self.manifest.obsolete.first() else {
            return Ok(false);
        };
        let pattern = Pattern::parse(&format!("{}*", page_prefix(part)));
        let scan = ValueScan::first(pattern, STEP, ValuePart::Nothing);
        let pages = self.index.driver.scan(&self.index.space, &scan).await?;
        if pages.len() < STEP {
            self.manifest.obsolete.remove(0);
        }
        let deletions = pages
            .into_iter()
            .map(|(name, _)| BatchWrite::apply(self.index.space.key(name), Operation::Del, None));
        self.writes.extend(deletions);
        Ok(true)
    }
}
