//! Where a term stands in an index, over all its parts.

use crate::allowed::{AllowedChunks, AllowedCursor};
use crate::index::{IndexSnapshot, PagePosition, SearchIndex};
use crate::page::{Posting, PostingPage, PostingReader, TermBlock};
use crate::terms::QueryTerm;
use ambit_storage::Result;
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many pages are fetched at once.
const AT_ONCE: usize = 16;
/// At most so many terms count for one that is only begun.
pub(crate) const EXPANSIONS: usize = 64;

/// Where a term stands.
#[derive(Clone, Debug, Default)]
pub struct TermPostings {
    /// The term.
    pub term: String,
    /// What of it was asked for, where that was its beginning.
    pub expanded_from: Option<Arc<str>>,
    /// In the order of the chunks.
    blocks: Vec<TermBlock>,
}

/// Goes through the postings of a term that are allowed.
pub struct PostingCursor<'a> {
    blocks: &'a [TermBlock],
    reader: Option<PostingReader<'a>>,
    /// Where it stands.
    posting: Option<Posting>,
    /// `None` where all are allowed.
    allowed: Option<AllowedCursor<'a>>,
}

impl TermPostings {
    /// How many bytes there are to look at.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(TermBlock::size).sum()
    }

    /// In how many of these chunks the term stands.
    pub fn count(&self, allowed: &AllowedChunks) -> u64 {
        if allowed.is_everything() {
            let counts = self.blocks.iter().map(|block| u64::from(block.count));
            return counts.sum();
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
            blocks: &self.blocks,
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
    #[inline]
    pub fn next_until(&mut self, last: u32) -> Option<Posting> {
        let posting = self.posting.filter(|posting| posting.chunk <= last)?;
        self.advance();
        Some(posting)
    }

    #[inline]
    fn advance(&mut self) {
        self.posting = loop {
            match self.reader.as_mut().and_then(Iterator::next) {
                Some(posting) if self.is_allowed(posting.chunk) => break Some(posting),
                Some(_) => {}
                None => {
                    let Some((block, rest)) = self.blocks.split_first() else {
                        break None;
                    };
                    self.blocks = rest;
                    self.reader = Some(block.postings());
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

/// The first terms with a beginning that stand in allowed chunks.
struct TermExpansion<'a> {
    prefix: Arc<str>,
    /// So many are enough.
    most: usize,
    allowed: &'a AllowedChunks,
    /// The blocks of terms that may stand on further pages.
    open: BTreeMap<String, BTreeMap<PagePosition, TermBlock>>,
    found: Vec<TermPostings>,
}

impl<'a> TermExpansion<'a> {
    fn new(prefix: &str, most: usize, allowed: &'a AllowedChunks) -> Self {
        Self {
            prefix: prefix.into(),
            most,
            allowed,
            open: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    fn read(&mut self, place: PagePosition, page: &Arc<PostingPage>) {
        let mut terms = page.terms();
        while let Some((term, block)) = terms.next_term() {
            if term.starts_with(&*self.prefix) {
                let blocks = self.open.entry(term.to_owned()).or_default();
                blocks.insert(place, TermBlock::of(page, block));
            }
        }
    }

    /// Whether enough terms come before the first of the next page; without one there are no more.
    fn is_full_before(&mut self, next: Option<&String>) -> bool {
        let open = next.map_or_else(BTreeMap::new, |next| self.open.split_off(next));
        for (term, blocks) in std::mem::replace(&mut self.open, open) {
            let postings = TermPostings {
                term,
                expanded_from: Some(self.prefix.clone()),
                blocks: blocks.into_values().collect(),
            };
            if self.found.len() < self.most && postings.cursor(self.allowed).chunk().is_some() {
                self.found.push(postings);
            }
        }
        self.found.len() == self.most
    }
}

impl SearchIndex {
    /// The terms of a query that the index has; of those that are only begun the first that allowed chunks have.
    pub async fn find(
        &self,
        snapshot: &IndexSnapshot,
        query: &[QueryTerm],
        allowed: &AllowedChunks,
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
                    // Those that are asked for as themselves do not count.
                    let most = EXPANSIONS + query.len();
                    let mut begun = TermExpansion::new(prefix, most, allowed);
                    self.expand(snapshot, &mut begun).await?;
                    for postings in begun.found {
                        found.entry(postings.term.clone()).or_insert(postings);
                    }
                }
            }
        }
        let found = found.into_values();
        Ok(found
            .filter(|postings| !postings.blocks.is_empty())
            .collect())
    }

    async fn find_term(&self, snapshot: &IndexSnapshot, term: &str) -> Result<TermPostings> {
        let pages = self.pages(snapshot, snapshot.places(term)).await?;
        let blocks = pages.iter().filter_map(|page| TermBlock::find(page, term));
        Ok(TermPostings {
            term: term.to_owned(),
            expanded_from: None,
            blocks: blocks.collect(),
        })
    }

    /// Finds terms with a beginning, in their order over all parts, until they are as many as are wanted.
    async fn expand(
        &self,
        snapshot: &IndexSnapshot,
        expansion: &mut TermExpansion<'_>,
    ) -> Result<()> {
        let mut places = snapshot.places_of_prefix(&expansion.prefix);
        places.sort_by_key(|place| snapshot.start(*place));
        let mut rest = places.as_slice();
        while let Some((some, others)) = rest.split_at_checked(AT_ONCE.min(rest.len())) {
            let pages = self.pages(snapshot, some.to_vec()).await?;
            for (place, page) in some.iter().zip(pages) {
                expansion.read(*place, &page);
            }
            let next = others.first().map(|place| &snapshot.start(*place).term);
            if expansion.is_full_before(next) || others.is_empty() {
                break;
            }
            rest = others;
        }
        Ok(())
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
