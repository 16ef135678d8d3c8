//! Where a term stands in an index, over all its parts.

use crate::allowed::{AllowedChunks, AllowedCursor};
use crate::index::{IndexSnapshot, PagePosition, SearchIndex};
use crate::page::{Posting, PostingPage, PostingReader};
use crate::terms::QueryTerm;
use ambit_storage::Result;
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many pages are fetched at once.
const AT_ONCE: usize = 16;

/// The pages on which a term stands.
#[derive(Clone, Debug, Default)]
pub struct TermPostings {
    /// The term.
    pub term: String,
    /// What of it was asked for, where that was its beginning.
    pub expanded_from: Option<Arc<str>>,
    /// In the order of the chunks.
    pages: Vec<Arc<PostingPage>>,
}

/// Goes through the postings of a term that are allowed.
pub struct PostingCursor<'a> {
    term: &'a str,
    pages: &'a [Arc<PostingPage>],
    reader: Option<PostingReader<'a>>,
    /// Where it stands.
    posting: Option<Posting>,
    /// `None` where all are allowed.
    allowed: Option<AllowedCursor<'a>>,
}

impl TermPostings {
    /// How many bytes there are to look at.
    pub fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.len()).sum()
    }

    /// In how many of these chunks the term stands.
    pub fn count(&self, allowed: &AllowedChunks) -> u64 {
        if allowed.is_everything() {
            let blocks = self.pages.iter().filter_map(|page| page.find(&self.term));
            return blocks.map(|block| u64::from(block.count)).sum();
        }
        let mut cursor = self.cursor(allowed);
        let mut count = 0;
        while cursor.next_until(u32::MAX).is_some() {
            count += 1;
        }
        count
    }

    /// The postings in these chunks.
    pub fn cursor<'a>(&'a self, allowed: &'a AllowedChunks) -> PostingCursor<'a> {
        let mut cursor = PostingCursor {
            term: &self.term,
            pages: &self.pages,
            reader: None,
            posting: None,
            allowed: (!allowed.is_everything()).then(|| allowed.cursor()),
        };
        cursor.advance();
        cursor
    }
}

impl PostingCursor<'_> {
    /// The chunk at which it stands; `None` at the end.
    pub fn chunk(&self) -> Option<u32> {
        self.posting.map(|posting| posting.chunk)
    }

    /// The next posting that is not behind this chunk.
    pub fn next_until(&mut self, last: u32) -> Option<Posting> {
        let posting = self.posting.filter(|posting| posting.chunk <= last)?;
        self.advance();
        Some(posting)
    }

    fn advance(&mut self) {
        self.posting = loop {
            match self.reader.as_mut().and_then(Iterator::next) {
                Some(posting) if self.is_allowed(posting.chunk) => break Some(posting),
                Some(_) => {}
                None => {
                    let Some((page, rest)) = self.pages.split_first() else {
                        break None;
                    };
                    self.pages = rest;
                    self.reader = page.find(self.term).map(|block| block.postings());
                }
            }
        };
    }

    fn is_allowed(&mut self, chunk: u32) -> bool {
        self.allowed
            .as_mut()
            .is_none_or(|allowed| allowed.has(chunk))
    }
}

impl SearchIndex {
    /// The terms of a query that the index has.
    pub async fn find(
        &self,
        snapshot: &IndexSnapshot,
        query: &[QueryTerm],
    ) -> Result<Vec<TermPostings>> {
        let mut found: BTreeMap<String, TermPostings> = BTreeMap::new();
        for term in query {
            match term {
                QueryTerm::Exact(term) => {
                    let postings = self.find_term(snapshot, term).await?;
                    // It counts as itself, though another word of the query begins it.
                    found.insert(term.clone(), postings);
                }
                QueryTerm::Prefix(prefix) => {
                    for postings in self.find_prefix(snapshot, prefix).await? {
                        found.entry(postings.term.clone()).or_insert(postings);
                    }
                }
            }
        }
        let found = found.into_values();
        Ok(found
            .filter(|postings| !postings.pages.is_empty())
            .collect())
    }

    async fn find_term(&self, snapshot: &IndexSnapshot, term: &str) -> Result<TermPostings> {
        let mut pages = self.pages(snapshot, snapshot.places(term)).await?;
        pages.retain(|page| page.find(term).is_some());
        Ok(TermPostings {
            term: term.to_owned(),
            expanded_from: None,
            pages,
        })
    }

    /// The terms with this beginning.
    async fn find_prefix(
        &self,
        snapshot: &IndexSnapshot,
        prefix: &str,
    ) -> Result<Vec<TermPostings>> {
        let begun: Arc<str> = prefix.into();
        let mut found: BTreeMap<String, TermPostings> = BTreeMap::new();
        for page in self
            .pages(snapshot, snapshot.places_of_prefix(prefix))
            .await?
        {
            let mut terms = page.terms();
            while let Some((term, _)) = terms.next_term() {
                if !term.starts_with(prefix) {
                    continue;
                }
                let postings = found.entry(term.to_owned());
                let postings = postings.or_insert_with(|| TermPostings {
                    term: term.to_owned(),
                    expanded_from: Some(begun.clone()),
                    pages: Vec::new(),
                });
                postings.pages.push(page.clone());
            }
        }
        Ok(found.into_values().collect())
    }

    async fn pages(
        &self,
        snapshot: &IndexSnapshot,
        places: Vec<PagePosition>,
    ) -> Result<Vec<Arc<PostingPage>>> {
        let pages = places
            .into_iter()
            .map(|place| self.page_at(snapshot, place));
        stream::iter(pages).buffered(AT_ONCE).try_collect().await
    }
}
