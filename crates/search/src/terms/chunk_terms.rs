//! The terms of chunks that come into an index together. A term has a number among them, so that its text is kept and compared
//! once, however many chunks have it.

use super::TermCounts;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// The terms of some chunks.
#[derive(Clone, Debug, Default)]
pub struct ChunkTerms {
    /// All terms, each once and one behind the other, by their numbers.
    text: String,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// By chunk.
    occurrences: Vec<TermOccurrence>,
    /// The sum of the counts of each chunk.
    lengths: Vec<u32>,
}

/// A chunk that has a term.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermOccurrence {
    pub term: u32,
    pub within: ChunkCount,
}

/// How often a term stands in a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkCount {
    /// The chunk's place among those that come together.
    pub chunk: u32,
    /// How often.
    pub count: u32,
}

/// A term and its first eight bytes, which mostly say which of two comes first.
struct TermStart {
    bytes: u64,
    term: usize,
}

impl ChunkTerms {
    /// Of chunks that are given by the counts of their terms.
    pub fn of(chunks: &[TermCounts]) -> Self {
        let mut numbers: HashMap<&str, u32, RandomState> = HashMap::default();
        let mut all = Self::default();
        for (chunk, counts) in (0..).zip(chunks) {
            let mut length = 0_u32;
            for (term, &count) in counts {
                let number = numbers.entry(term.as_str());
                let term = *number.or_insert_with(|| all.add_term(term));
                let within = ChunkCount { chunk, count };
                all.occurrences.push(TermOccurrence { term, within });
                length = length.saturating_add(count);
            }
            all.lengths.push(length);
        }
        all
    }

    /// Of occurrences by chunk, whose terms are places in a list, and the lengths of the chunks.
    pub(super) fn numbered(
        mut occurrences: Vec<TermOccurrence>,
        lengths: Vec<u32>,
        terms: &[Arc<str>],
    ) -> Self {
        let mut all = Self::default();
        let mut numbers = vec![None; terms.len()];
        for occurrence in &mut occurrences {
            let place = occurrence.term as usize;
            let number = numbers[place].get_or_insert_with(|| all.add_term(&terms[place]));
            occurrence.term = *number;
        }
        Self {
            occurrences,
            lengths,
            ..all
        }
    }

    /// The length of each chunk: the sum of its counts.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// All terms, each once.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(move |term| self.term(term))
    }

    /// Calls `found` for each term, in byte order, with the chunks that have it, in theirs.
    pub(crate) fn each_term(&self, found: &mut impl FnMut(&str, &[ChunkCount])) {
        let (chunks, ends) = self.chunks_by_term();
        for term in self.in_order() {
            let start = term.checked_sub(1).map_or(0, |before| ends[before]);
            found(self.term(term), &chunks[start..ends[term]]);
        }
    }

    /// The number of a term that has none yet.
    fn add_term(&mut self, term: &str) -> u32 {
        let number = self.ends.len() as u32;
        self.text.push_str(term);
        self.ends.push(self.text.len());
        number
    }

    fn term(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// The chunks of each term, the terms by number, and where those of each end. They are counted and then put in their places,
    /// which takes no comparison.
    fn chunks_by_term(&self) -> (Vec<ChunkCount>, Vec<usize>) {
        let mut places = vec![0; self.ends.len()];
        for occurrence in &self.occurrences {
            places[occurrence.term as usize] += 1;
        }
        let mut start = 0;
        for place in &mut places {
            start += std::mem::replace(place, start);
        }
        let mut chunks = vec![ChunkCount::default(); self.occurrences.len()];
        for occurrence in &self.occurrences {
            let place = &mut places[occurrence.term as usize];
            chunks[*place] = occurrence.within;
            *place += 1;
        }
        (chunks, places)
    }

    /// The numbers of the terms, in byte order.
    fn in_order(&self) -> impl Iterator<Item = usize> {
        let terms = self.terms().enumerate();
        let mut starts: Vec<TermStart> = terms
            .map(|(term, text)| TermStart {
                bytes: first_bytes(text),
                term,
            })
            .collect();
        starts.sort_unstable_by(|one, other| {
            let whole = || self.term(one.term).cmp(self.term(other.term));
            one.bytes.cmp(&other.bytes).then_with(whole)
        });
        starts.into_iter().map(|start| start.term)
    }
}

/// Numbers that are in the order of the texts, where they are not the same.
fn first_bytes(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(bytes.len());
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::{ChunkCount, ChunkTerms};
    use crate::terms::TermCounts;

    fn counts(terms: &[&str]) -> TermCounts {
        let mut counts = TermCounts::new();
        for term in terms {
            *counts.entry((*term).to_owned()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn terms_come_in_byte_order_with_their_chunks() {
        let long = ["abcdefgh", "abcdefgh\0", "abcdefghi", "abcdefgha"];
        let chunks = [
            counts(&["b", "é", "a", "b"]),
            counts(&[]),
            counts(&long),
            counts(&["ab", "b", "a\0", "a"]),
        ];
        let terms = ChunkTerms::of(&chunks);
        assert_eq!(terms.lengths(), [4, 0, 4, 4]);
        let mut found = Vec::new();
        terms.each_term(&mut |term, chunks| found.push((term.to_owned(), chunks.to_vec())));
        let count = |chunk, count| ChunkCount { chunk, count };
        let expected = [
            ("a", vec![count(0, 1), count(3, 1)]),
            ("a\0", vec![count(3, 1)]),
            ("ab", vec![count(3, 1)]),
            ("abcdefgh", vec![count(2, 1)]),
            ("abcdefgh\0", vec![count(2, 1)]),
            ("abcdefgha", vec![count(2, 1)]),
            ("abcdefghi", vec![count(2, 1)]),
            ("b", vec![count(0, 2), count(3, 1)]),
            ("é", vec![count(0, 1)]),
        ];
        let expected = expected.map(|(term, chunks)| (term.to_owned(), chunks));
        assert_eq!(found, expected);
    }
}
