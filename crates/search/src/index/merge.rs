//! Many small parts become a large one, step by step: each step is a commit of its own that adds pages to the new part, and
//! the last one puts it in the place of the old ones.

use super::directory::PartDirectory;
use super::{IndexChange, SearchIndex};
use crate::page::{PageWriter, Posting, PostingPage, PostingPosition};
use ambit_storage::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many pages are added by one commit.
const STEP: usize = 64;

/// A part on its way into another one, read from front to back.
struct MergeSource {
    directory: Arc<PartDirectory>,
    /// The next page.
    at: usize,
    /// What is behind this is not in the new part yet.
    after: Option<PostingPosition>,
    /// What was read and not taken.
    terms: VecDeque<TermRun>,
}

/// A term and some of its postings.
struct TermRun {
    term: String,
    postings: Vec<Posting>,
}

impl SearchIndex {
    /// Does one step of what keeps the index small and quick, if something is to be done. A step that meets another change is
    /// done again by the next call.
    pub async fn keep_up(&self) -> Result<bool> {
        let mut change = self.change().await?;
        let done = match change.sweep_obsolete().await {
            Ok(false) if change.manifest.begin_merge() => change.merge_step().await,
            Ok(false) => return Ok(false),
            swept => swept.map(drop),
        };
        let committed = match done {
            Ok(()) => change.commit().await,
            Err(error) => Err(error),
        };
        match committed {
            Ok(()) | Err(Error::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
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
        let page = page.ok_or_else(|| super::is_restless(&self.space))?;
        Ok(runs(&page).pop_back().and_then(|run| {
            let chunk = run.postings.last()?.chunk;
            Some(PostingPosition {
                term: run.term,
                chunk,
            })
        }))
    }
}

impl IndexChange {
    /// Adds pages to the part that is being made; the last step ends the merge.
    async fn merge_step(&mut self) -> Result<()> {
        let Some(merge) = self.manifest.merge.clone() else {
            return Ok(());
        };
        let after = self.index.last_position(merge.into).await?;
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
            self.put_page(merge.into, page)?;
        }
        if let Some(merge) = &mut self.manifest.merge {
            merge.pages += written.len() as u32;
        }
        if is_over {
            self.manifest.end_merge();
        }
        Ok(())
    }
}

impl SearchIndex {
    /// Takes terms from the sources until a step is full; true where nothing is left.
    async fn merge(&self, sources: &mut [MergeSource], writer: &mut PageWriter) -> Result<bool> {
        while writer.full_pages() < STEP {
            for source in &mut *sources {
                source.fill(self).await?;
            }
            let next = sources.iter().filter_map(|source| source.terms.front());
            let Some(term) = next.map(|run| run.term.clone()).min() else {
                return Ok(true);
            };
            for source in &mut *sources {
                while let Some(run) = source.terms.pop_front_if(|run| run.term == term) {
                    writer.add(&run.term, run.postings);
                    // The term may go on on the next page.
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
            terms: VecDeque::new(),
        }
    }

    /// Reads the next page where nothing is left of the one before.
    async fn fill(&mut self, index: &SearchIndex) -> Result<()> {
        while self.terms.is_empty() && self.at < self.directory.pages.len() {
            let page = index.page(&self.directory, self.at).await?;
            let page = page.ok_or_else(|| super::is_restless(&index.space))?;
            self.at += 1;
            self.terms = runs(&page);
            if let Some(after) = &self.after {
                self.terms.retain_mut(|run| run.is_behind(after));
            }
        }
        Ok(())
    }
}

impl TermRun {
    /// Drops what is not behind a place; false where nothing is left.
    fn is_behind(&mut self, place: &PostingPosition) -> bool {
        match self.term.cmp(&place.term) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => {
                self.postings.retain(|posting| posting.chunk > place.chunk);
                !self.postings.is_empty()
            }
        }
    }
}

fn runs(page: &PostingPage) -> VecDeque<TermRun> {
    let mut runs = VecDeque::new();
    let mut terms = page.terms();
    while let Some((term, block)) = terms.next_term() {
        runs.push_back(TermRun {
            term: term.to_owned(),
            postings: block.postings().collect(),
        });
    }
    runs
}
