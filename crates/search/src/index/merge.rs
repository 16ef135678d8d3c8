//! Many small parts become a large one, step by step: each step is a commit of its own that adds pages to the new part, and
//! the last one puts it in the place of the old ones.

use super::directory::PartDirectory;
use super::removal::STEP;
use super::{IndexChange, SearchIndex, is_damaged, is_restless};
use crate::manifest::Manifest;
use crate::page::{PageCursor, PageWriter, PostingPage, PostingPosition, TermBlock};
use ambit_storage::batch::Batch;
use ambit_storage::{Error, Result};
use std::sync::Arc;

/// A part on its way into another one, read from front to back.
struct MergeSource {
    directory: Arc<PartDirectory>,
    /// The next page.
    at: usize,
    /// What is behind this is not in the new part yet.
    after: Option<PostingPosition>,
    /// The page before that.
    page: Option<PageCursor>,
    /// The term that was read last.
    term: String,
    /// What the page has of it; `None` where that was taken.
    block: Option<TermBlock>,
}

/// Pages that are ready for the part that is being made. What others add to the index meanwhile does not matter to them.
pub(crate) struct MergeStep {
    change: IndexChange,
    pages: u32,
    last: Option<PostingPosition>,
    is_over: bool,
}

impl SearchIndex {
    /// Does one step of what keeps the index small and quick, if something is to be done. A step that meets another change of
    /// the same parts is done again by the next call.
    pub async fn keep_up(&self) -> Result<bool> {
        let change = match self.change().await {
            Err(Error::Conflict { .. }) => return Ok(true),
            change => change?,
        };
        let version = change.before.version;
        match change.upkeep_step().await {
            // Where nobody has changed it, the next call would end alike.
            Err(Error::Conflict { .. }) => match self.manifest_version().await? == version {
                true => Err(is_damaged(&self.space)),
                false => Ok(true),
            },
            done => done,
        }
    }

    /// The last posting of a part that is being made; `None` where it has none yet.
    async fn last_position(&self, part: u32) -> Result<Option<PostingPosition>> {
        let pages = self.pages_of_part(part).await?;
        let Some(at) = pages.len().checked_sub(1) else {
            return Ok(None);
        };
        let revision = 0;
        let directory = PartDirectory {
            part,
            revision,
            pages,
        };
        let page = self.page(&directory, at).await?;
        let page = page.ok_or_else(|| is_restless(&self.space))?;
        Ok(last_of(&page))
    }
}

impl IndexChange {
    async fn upkeep_step(mut self) -> Result<bool> {
        if self.sweep_obsolete().await? {
            return Ok(true);
        }
        if self.manifest.merge.is_some() {
            let step = self.merge_step().await?;
            return step.commit().await.map(|()| true);
        }
        if !self.manifest.begin_merge() {
            return Ok(false);
        }
        if self.is_short_merge() {
            let index = self.index.clone();
            match self.merge_step().await?.commit_begun().await {
                // Somebody writes all the time: a step that is begun is left alone by others.
                Err(Error::Conflict { .. }) => self = index.change().await?,
                done => return done.map(|()| true),
            }
            if !self.manifest.begin_merge() {
                return Ok(true);
            }
        }
        // A commit of its own gives the new part its number, which writers then leave alone.
        self.commit().await.map(|()| true)
    }

    /// Whether one step is enough for the merge that begins.
    fn is_short_merge(&self) -> bool {
        let merge = self.manifest.merge.as_ref();
        let parts = merge.map_or_else(Vec::new, |merge| self.manifest.merged_parts(merge));
        parts.iter().map(|part| part.pages as usize).sum::<usize>() <= STEP
    }

    /// Makes the next pages of the part that is being made.
    pub(crate) async fn merge_step(mut self) -> Result<MergeStep> {
        let Some(merge) = self.manifest.merge.clone() else {
            return Err(Error::internal("no merge is under way"));
        };
        let after = match merge.after {
            None if merge.pages > 0 => self.index.last_position(merge.into).await?,
            after => after,
        };
        let mut writer = match &after {
            Some(position) => PageWriter::behind(position.term.clone()),
            None => PageWriter::default(),
        };
        let directories = self.before.directories.iter();
        let directories = directories.filter(|it| merge.of.contains(&it.part));
        let mut sources: Vec<MergeSource> = directories
            .map(|directory| MergeSource::new(directory.clone(), after.clone()))
            .collect();
        let is_over = self.index.merge(&mut sources, &mut writer).await?;
        let written = writer.finish();
        for page in &written {
            self.put_page(merge.into, page);
        }
        Ok(MergeStep {
            change: self,
            pages: written.len() as u32,
            last: written.last().and_then(|page| last_of(&page.page)),
            is_over,
        })
    }
}

impl MergeStep {
    /// Commits it on the index as it is by now. It fails with `Conflict` where the parts that it was made of have changed.
    pub(crate) async fn commit(self) -> Result<()> {
        let apply = |next: &mut IndexChange| {
            let fits = self.fits(&next.manifest);
            self.apply(&mut next.manifest);
            Ok(fits)
        };
        self.change.commit_rebased(&Batch::default(), apply).await
    }

    /// Commits the first step of a merge with its begin. Where it is the last one too, the pages of the merged parts go with it.
    async fn commit_begun(mut self) -> Result<()> {
        let merge = self.change.manifest.merge.clone();
        let mut manifest = self.change.manifest.clone();
        self.apply(&mut manifest);
        self.change.manifest = manifest;
        if let Some(merge) = merge.filter(|_| self.is_over) {
            let before = self.change.before.clone();
            let is_merged = |part: u32| merge.of.contains(&part);
            let merged = before.directories.iter().filter(|it| is_merged(it.part));
            // Behind the deletions: SQLite then puts the new pages where the old ones were, which else are written twice.
            let added = std::mem::take(&mut self.change.writes);
            for directory in merged {
                for page in &directory.pages {
                    self.change.delete_page(directory.part, &page.start);
                }
            }
            self.change.writes.extend(added);
            let obsolete = &mut self.change.manifest.obsolete;
            obsolete.retain(|part| !is_merged(*part));
        }
        self.change.commit().await
    }

    fn fits(&self, now: &Manifest) -> bool {
        let then = &self.change.manifest;
        let parts = |of: &Manifest| then.merge.as_ref().map(|merge| of.merged_parts(merge));
        then.incarnation == now.incarnation && then.merge == now.merge && parts(then) == parts(now)
    }

    fn apply(&self, manifest: &mut Manifest) {
        if let Some(merge) = &mut manifest.merge {
            merge.pages += self.pages;
            merge.after.clone_from(&self.last);
        }
        if self.is_over {
            manifest.end_merge();
        }
    }
}

impl SearchIndex {
    /// Takes terms from the sources until a step is full; true where nothing is left.
    async fn merge(&self, sources: &mut [MergeSource], writer: &mut PageWriter) -> Result<bool> {
        for source in &mut *sources {
            source.fill(self).await?;
        }
        let mut term = String::new();
        while writer.full_pages() < STEP {
            let Some(next) = sources.iter().filter_map(MergeSource::next).min() else {
                return Ok(true);
            };
            next.clone_into(&mut term);
            for source in &mut *sources {
                // The term may go on on the source's next page.
                while source.next() == Some(term.as_str()) && writer.full_pages() < STEP {
                    source.take(writer);
                    source.fill(self).await?;
                }
            }
        }
        Ok(false)
    }
}

impl MergeSource {
    fn new(directory: Arc<PartDirectory>, after: Option<PostingPosition>) -> Self {
        let is_before =
            |start: &PostingPosition| after.as_ref().is_some_and(|after| start <= after);
        let at = directory
            .pages
            .partition_point(|page| is_before(&page.start));
        Self {
            at: at.saturating_sub(1),
            directory,
            after,
            page: None,
            term: String::new(),
            block: None,
        }
    }

    /// The term that comes next.
    fn next(&self) -> Option<&str> {
        self.block.is_some().then_some(self.term.as_str())
    }

    /// Adds the term that comes next, without the postings that are in the new part already.
    fn take(&mut self, writer: &mut PageWriter) {
        let Some(block) = self.block.take() else {
            return;
        };
        match self.after.as_ref().filter(|it| it.term == self.term) {
            None => writer.add_block(&self.term, &block),
            Some(after) => {
                let new = block.postings().filter(|it| it.chunk > after.chunk);
                writer.add(&self.term, new);
            }
        }
    }

    /// Reads on to the next term, and the next page, where nothing is left of the one before.
    async fn fill(&mut self, index: &SearchIndex) -> Result<()> {
        while self.block.is_none() {
            if self.read_term() {
                continue;
            }
            if self.at == self.directory.pages.len() {
                break;
            }
            let page = index.page(&self.directory, self.at).await?;
            self.page = Some(PageCursor::new(
                page.ok_or_else(|| is_restless(&index.space))?,
            ));
            self.at += 1;
            // A step reads hundreds of pages: others on this thread come between.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Reads a term that is not in the new part already; false where the page has no more.
    fn read_term(&mut self) -> bool {
        while let Some((term, block)) = self.page.as_mut().and_then(PageCursor::next_term) {
            if self.after.as_ref().is_none_or(|after| *term >= *after.term) {
                term.clone_into(&mut self.term);
                self.block = Some(block);
                return true;
            }
        }
        false
    }
}

fn last_of(page: &PostingPage) -> Option<PostingPosition> {
    let mut terms = page.terms();
    let mut last = None;
    while let Some((term, block)) = terms.next_term() {
        last = Some((term.to_owned(), block));
    }
    let (term, block) = last?;
    let chunk = block.postings().last()?.chunk;
    Some(PostingPosition { term, chunk })
}

#[cfg(test)]
mod tests {
    use super::STEP;
    use crate::index::{PageCache, SearchIndex};
    use crate::terms::{ChunkTerms, TermCounts};
    use ambit_storage::address::Space;
    use ambit_storage::driver::DriverOptions;
    use ambit_storage::driver::memory::MemoryDriver;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_step_ends_in_the_midst_of_a_frequent_term() {
        let driver = Arc::new(MemoryDriver::new(DriverOptions::default()));
        let cache = PageCache::new(1 << 20);
        let index = SearchIndex::new(driver, Space::settings("t"), cache);
        // Counts that take many bytes, so that few chunks fill a page.
        let chunk = TermCounts::from([("the".to_owned(), 1 << 30)]);
        let chunks = ChunkTerms::of(&vec![chunk; 36_000]);
        for _ in 0..8 {
            let mut change = index.change().await.unwrap();
            change.add(&chunks).unwrap();
            change.commit().await.unwrap();
        }
        assert!(index.keep_up().await.unwrap());
        let (mut steps, mut pages) = (0, 0);
        while let Some(merge) = &index.snapshot().await.unwrap().manifest.merge {
            assert!(merge.pages - pages <= STEP as u32 + 2, "{merge:?}");
            let last = index.last_position(merge.into).await.unwrap();
            assert_eq!(merge.after, last);
            pages = merge.pages;
            index.keep_up().await.unwrap();
            steps += 1;
        }
        assert!(steps > 1);
    }
}
