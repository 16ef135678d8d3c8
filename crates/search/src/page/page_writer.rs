//! Pages are made of terms that come in order, each full one behind the other.

use super::{PAGE, Posting, PostingPage, PostingPosition, TermBlock};
use crate::varint;

/// Makes pages of terms that come in order.
#[derive(Default)]
pub struct PageWriter {
    pages: Vec<WrittenPage>,
    start: PostingPosition,
    bytes: Vec<u8>,
    /// The term that the page before ends with.
    before: Option<String>,
    /// The last term whose block is in `bytes`.
    last: String,
    /// The term under way, and its block.
    term: String,
    block: Vec<u8>,
    count: u32,
    chunk: u32,
}

/// A page that is full, and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    /// Its place among the pages.
    pub start: PostingPosition,
    /// Its bytes.
    pub page: PostingPage,
}

impl PageWriter {
    /// Goes on behind a page that ended with this term.
    pub fn behind(term: String) -> Self {
        Self {
            before: Some(term),
            ..Self::default()
        }
    }

    /// Adds postings of a term: the terms in byte order, the chunks of each ascending.
    pub fn add(&mut self, term: &str, postings: impl IntoIterator<Item = Posting>) {
        let mut is_begun = self.count > 0 && self.term == term;
        for posting in postings {
            if !is_begun {
                self.end_term();
                self.begin_term(term, posting.chunk);
                is_begun = true;
            }
            self.put(posting);
            if self.bytes.len() + self.block.len() >= PAGE {
                self.end_page();
                is_begun = false;
            }
        }
    }

    /// Adds the postings of a block of this term, as `add` does. Where they fit on the page, the bytes behind the first posting are
    /// taken as they are: they say how far it is from one chunk to the next.
    pub fn add_block(&mut self, term: &str, block: &TermBlock) {
        let mut rest = block.postings();
        let Some(first) = rest.next() else {
            return;
        };
        if self.count == 0 || self.term != term {
            self.end_term();
            self.begin_term(term, first.chunk);
        }
        if self.bytes.len() + self.block.len() + block.size() >= PAGE {
            return self.add(term, block.postings());
        }
        let bytes = rest.bytes;
        self.put(first);
        self.block.extend_from_slice(bytes);
        for posting in rest {
            self.chunk = posting.chunk;
            self.count += 1;
        }
    }

    fn begin_term(&mut self, term: &str, chunk: u32) {
        term.clone_into(&mut self.term);
        if self.bytes.is_empty() {
            let is_continued = self.before.as_deref() == Some(term);
            self.start = PostingPosition {
                term: term.to_owned(),
                chunk: if is_continued { chunk } else { 0 },
            };
        }
    }

    fn put(&mut self, posting: Posting) {
        varint::put(&mut self.block, posting.chunk.wrapping_sub(self.chunk));
        let is_more = posting.count != 1;
        varint::put(&mut self.block, posting.length << 1 | u32::from(is_more));
        if is_more {
            varint::put(&mut self.block, posting.count);
        }
        self.chunk = posting.chunk;
        self.count += 1;
    }

    fn end_term(&mut self) {
        if self.count == 0 {
            return;
        }
        let shared = match self.bytes.is_empty() {
            true => 0,
            false => shared_length(&self.last, &self.term),
        };
        let rest = &self.term.as_bytes()[shared..];
        varint::put(&mut self.bytes, shared as u32);
        varint::put(&mut self.bytes, rest.len() as u32);
        self.bytes.extend_from_slice(rest);
        varint::put(&mut self.bytes, self.count);
        varint::put(&mut self.bytes, self.block.len() as u32);
        self.bytes.append(&mut self.block);
        self.last.clone_from(&self.term);
        (self.count, self.chunk) = (0, 0);
    }

    fn end_page(&mut self) {
        self.end_term();
        if !self.bytes.is_empty() {
            self.before = Some(self.last.clone());
            self.pages.push(WrittenPage {
                start: std::mem::take(&mut self.start),
                page: PostingPage(std::mem::take(&mut self.bytes)),
            });
        }
    }

    /// How many pages are full.
    pub fn full_pages(&self) -> usize {
        self.pages.len()
    }

    /// The pages.
    pub fn finish(mut self) -> Vec<WrittenPage> {
        self.end_page();
        self.pages
    }
}

fn shared_length(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::PageWriter;
    use crate::page::{Posting, PostingPage, TermBlock};
    use std::sync::Arc;

    const TERMS: [&str; 5] = ["a", "ab", "b", "c", "d"];

    /// Pages of chunks from this one on: some terms take pages, others a few bytes.
    fn pages(first: u32) -> Vec<Arc<PostingPage>> {
        let mut writer = PageWriter::default();
        for (term, every) in TERMS.into_iter().zip([1, 700, 3, 1, 2_000]) {
            let chunks = (first..first + 4_000).step_by(every);
            let postings = chunks.map(|chunk| Posting {
                chunk,
                count: 1 + chunk % 3,
                length: chunk % 300,
            });
            writer.add(term, postings);
        }
        let written = writer.finish().into_iter();
        written.map(|written| Arc::new(written.page)).collect()
    }

    #[test]
    fn blocks_give_the_pages_that_their_postings_give() {
        let pages: Vec<Arc<PostingPage>> = [0, 4_000, 8_000].into_iter().flat_map(pages).collect();
        let (mut by_block, mut by_posting) = (PageWriter::default(), PageWriter::default());
        for term in TERMS {
            for block in pages.iter().filter_map(|page| TermBlock::find(page, term)) {
                by_block.add_block(term, &block);
                by_posting.add(term, block.postings());
            }
        }
        let written = by_block.finish();
        assert!(written.len() > 3);
        assert_eq!(written, by_posting.finish());
    }
}
