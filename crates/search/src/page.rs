//! A page of an index: terms in byte order, each with the chunks in which it stands.
//!
//! For each term: how many bytes it shares with the one before, the rest of it, and a block of postings with its number and
//! length, so that a reader who wants another term passes over it. A posting is the distance to the chunk before, and the
//! chunk's length with one bit that says whether the term stands there more than once; then how often follows.

mod page_writer;

pub use page_writer::{PageWriter, WrittenPage};

use crate::base64_json;
use crate::varint;
use ambit_storage::{Error, Json, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A page is ended behind so many bytes. In base64 it then fills three overflow pages of SQLite's; the 500 bytes that are left
/// share a page with those of others.
const PAGE: usize = 9_500;

/// A chunk in which a term stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The chunk's number in its index.
    pub chunk: u32,
    /// How often the term stands there.
    pub count: u32,
    /// The sum of all counts of the chunk.
    pub length: u32,
}

/// A place among the postings of an index, which are in the order of their terms, and those of a term by chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PostingPosition {
    /// The term.
    pub term: String,
    /// The chunk; a page begins at 0 unless its first term began on the page before.
    pub chunk: u32,
}

/// The bytes of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostingPage(Vec<u8>);

/// The postings of one term on one page.
#[derive(Clone, Copy, Debug)]
pub struct PostingBlock<'a> {
    /// How many there are.
    pub count: u32,
    bytes: &'a [u8],
    /// Where it ends on its page.
    end: usize,
}

/// The postings of one term on a page that stays in memory with them.
#[derive(Clone, Debug)]
pub struct TermBlock {
    /// How many there are.
    pub count: u32,
    page: Arc<PostingPage>,
    bytes: Range<usize>,
}

/// Goes through the postings of a block.
#[derive(Clone, Debug)]
pub struct PostingReader<'a> {
    bytes: &'a [u8],
    chunk: u32,
}

/// Goes through the terms of a page.
pub struct TermReader<'a> {
    bytes: &'a [u8],
    /// How long the page is.
    length: usize,
    /// The term last read.
    term: Vec<u8>,
}

impl PostingPosition {
    /// As part of a value's name; names are in the order of the starts.
    pub fn name(&self) -> String {
        format!("{} {:08x}", self.term, self.chunk)
    }

    /// What `name` made.
    pub fn parse(name: &str) -> Option<Self> {
        let (term, chunk) = name.rsplit_once(' ')?;
        Some(Self {
            term: term.to_owned(),
            chunk: u32::from_str_radix(chunk, 16).ok()?,
        })
    }
}

impl PostingPage {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a value.
    pub fn to_json(&self) -> Json {
        base64_json::to_json(&self.0)
    }

    /// What `to_json` made.
    pub fn of(json: &Json) -> Result<Self> {
        let page = Self(base64_json::bytes_of(json, "a page of an index")?);
        match page.is_sound() {
            true => Ok(page),
            false => Err(Error::corrupt("a page of an index", "its bytes end early")),
        }
    }

    /// Every block has the postings that it says, and nothing stands behind the last one.
    fn is_sound(&self) -> bool {
        let mut terms = self.terms();
        while let Some((_, block)) = terms.next_term() {
            if block.postings().count() != block.count as usize {
                return false;
            }
        }
        terms.bytes.is_empty()
    }

    /// Its terms, in order.
    pub fn terms(&self) -> TermReader<'_> {
        TermReader {
            bytes: &self.0,
            length: self.0.len(),
            term: Vec::new(),
        }
    }

    /// The postings of a term.
    pub fn find(&self, term: &str) -> Option<PostingBlock<'_>> {
        let mut terms = self.terms();
        while let Some((found, block)) = terms.next_term() {
            match found.cmp(term) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(block),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }
}

impl TermBlock {
    /// The postings of a term.
    pub fn find(page: &Arc<PostingPage>, term: &str) -> Option<Self> {
        page.find(term).map(|block| Self::of(page, block))
    }

    /// A block of this page.
    pub fn of(page: &Arc<PostingPage>, block: PostingBlock<'_>) -> Self {
        Self {
            count: block.count,
            page: page.clone(),
            bytes: block.end - block.bytes.len()..block.end,
        }
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The postings, by chunk.
    pub fn postings(&self) -> PostingReader<'_> {
        PostingReader::of(&self.page.0[self.bytes.clone()])
    }
}

impl<'a> TermReader<'a> {
    /// The next term and where it stands.
    pub fn next_term(&mut self) -> Option<(&str, PostingBlock<'a>)> {
        let mut bytes = self.bytes;
        let shared = varint::take(&mut bytes)? as usize;
        let rest = varint::take(&mut bytes)? as usize;
        let (rest, mut bytes) = bytes.split_at_checked(rest)?;
        let count = varint::take(&mut bytes)?;
        let length = varint::take(&mut bytes)? as usize;
        let (postings, bytes) = bytes.split_at_checked(length)?;
        self.term.truncate(shared);
        self.term.extend_from_slice(rest);
        let term = std::str::from_utf8(&self.term).ok()?;
        self.bytes = bytes;
        let block = PostingBlock {
            count,
            bytes: postings,
            end: self.length - bytes.len(),
        };
        Some((term, block))
    }
}

impl<'a> PostingBlock<'a> {
    /// The postings, by chunk.
    pub fn postings(&self) -> PostingReader<'a> {
        PostingReader::of(self.bytes)
    }
}

impl<'a> PostingReader<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, chunk: 0 }
    }
}

impl Iterator for PostingReader<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let distance = varint::take(&mut self.bytes)?;
        let length = varint::take(&mut self.bytes)?;
        let count = match length & 1 {
            0 => 1,
            _ => varint::take(&mut self.bytes)?,
        };
        self.chunk = self.chunk.wrapping_add(distance);
        Some(Posting {
            chunk: self.chunk,
            count,
            length: length >> 1,
        })
    }
}

/// Goes through the terms of a page that stays in memory with it.
pub struct PageCursor {
    page: Arc<PostingPage>,
    /// What was read of it, in bytes.
    at: usize,
    /// The term last read.
    term: Vec<u8>,
}

impl PageCursor {
    /// Begins at the page's first term.
    pub fn new(page: Arc<PostingPage>) -> Self {
        let (at, term) = (0, Vec::new());
        Self { page, at, term }
    }

    /// The next term and where it stands.
    pub fn next_term(&mut self) -> Option<(&str, TermBlock)> {
        let length = self.page.len();
        let term = std::mem::take(&mut self.term);
        let bytes = &self.page.0[self.at..];
        let mut terms = TermReader {
            bytes,
            length,
            term,
        };
        let block = terms.next_term().map(|(_, block)| block);
        (self.at, self.term) = (length - terms.bytes.len(), terms.term);
        let block = TermBlock::of(&self.page, block?);
        Some((std::str::from_utf8(&self.term).ok()?, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posting(chunk: u32, count: u32) -> Posting {
        Posting {
            chunk,
            count,
            length: 150,
        }
    }

    #[test]
    fn what_is_written_is_found_and_nothing_else() {
        let mut writer = PageWriter::default();
        let terms = ["a", "ab", "abc", "b", "größe", "größer"];
        for (at, term) in (1..).zip(terms) {
            writer.add(term, (0..at).map(|chunk| posting(chunk * 1000, chunk + 1)));
        }
        let pages = writer.finish();
        assert_eq!(pages.len(), 1);
        let page = PostingPage::of(&pages[0].page.to_json()).unwrap();
        assert_eq!(page, pages[0].page);
        for (at, term) in (1..).zip(terms) {
            let block = page.find(term).unwrap();
            let expected: Vec<Posting> = (0..at).map(|it| posting(it * 1000, it + 1)).collect();
            assert_eq!(block.postings().collect::<Vec<_>>(), expected);
            assert_eq!(block.count, at);
        }
        for absent in ["", "aa", "abcd", "grö", "z"] {
            assert!(page.find(absent).is_none(), "{absent}");
        }
    }

    #[test]
    fn a_long_list_goes_on_on_further_pages_in_order() {
        let mut writer = PageWriter::default();
        writer.add("a", [posting(7, 1)]);
        writer.add("the", (0..10_000).map(|chunk| posting(chunk, 2)));
        writer.add("thee", [posting(9, 1)]);
        let pages = writer.finish();
        assert!(pages.len() > 3);
        let starts: Vec<&PostingPosition> = pages.iter().map(|page| &page.start).collect();
        assert!(starts.is_sorted() && starts[0].term == "a" && starts[1].chunk > 0);
        let names: Vec<String> = starts.iter().map(|start| start.name()).collect();
        assert!(names.is_sorted());
        let parsed = names
            .iter()
            .map(|name| PostingPosition::parse(name).unwrap());
        assert!(parsed.eq(starts.iter().map(|start| (*start).clone())));
        let all = pages.iter().filter_map(|page| page.page.find("the"));
        let chunks = all.flat_map(|block| block.postings().map(|posting| posting.chunk));
        assert!(chunks.eq(0..10_000));
        assert!(pages.iter().all(|page| page.page.len() < PAGE + 32));
    }

    #[test]
    fn a_page_whose_bytes_end_early_is_corrupt() {
        let mut writer = PageWriter::default();
        writer.add("word", [posting(1, 3), posting(5, 1)]);
        let page = writer.finish().remove(0).page;
        for length in 1..page.len() {
            let cut = PostingPage(page.0[..length].to_vec());
            let read = PostingPage::of(&cut.to_json());
            assert!(matches!(read, Err(Error::Corrupt { .. })), "{length}");
        }
        let read = PostingPage::of(&Json::of("no base64 !").unwrap());
        assert!(matches!(read, Err(Error::Corrupt { .. })));
    }
}
