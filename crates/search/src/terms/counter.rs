//! Counting the terms of many texts: the stem of a word is most of the work, and texts of one kind share most of their words.

use super::chunk_terms::ChunkTerms;
use super::token::{Token, each_token};
use super::{Analyzer, TermCounts, normalized};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Of so many words the terms are remembered.
const KNOWN_WORDS: usize = 1 << 16;

/// Longer words are not worth it, in bytes.
const LONGEST_KNOWN: usize = 64;

/// Counts the terms of many texts. The term of a word is worked out once, as long as not too many words are known.
pub struct TermCounter {
    analyzer: Analyzer,
    /// The terms of words, by their places. Words and pairs of letters have no text in common.
    known: HashMap<Box<str>, u32, RandomState>,
    /// Each term once: those of known words, and of others.
    terms: Vec<Arc<str>>,
    places: HashMap<Arc<str>, u32, RandomState>,
    /// Where each term was counted last.
    marks: Vec<TermMark>,
    /// What was found in the text under way, where it is counted alone.
    found: Vec<u32>,
    /// The chunks that were read.
    chunks: ChunkTerms,
    /// The places of their terms.
    chunk_terms: Vec<u32>,
}

/// What is known of a term in the chunks that were read. It may be of earlier ones, and is then about another term or none.
#[derive(Clone, Copy, Default)]
struct TermMark {
    /// Its number there.
    term: u32,
    /// Where it was counted last.
    last: u32,
}

impl TermCounter {
    /// Counts as this analyzer does.
    pub fn new(analyzer: Analyzer) -> Self {
        Self {
            analyzer,
            known: HashMap::default(),
            terms: Vec::new(),
            places: HashMap::default(),
            marks: Vec::new(),
            found: Vec::new(),
            chunks: ChunkTerms::default(),
            chunk_terms: Vec::new(),
        }
    }

    /// Adds the terms of a text, each occurrence as `weight`.
    pub fn count(&mut self, text: &str, weight: u32, counts: &mut TermCounts) {
        self.forget_many();
        self.found.clear();
        each_token(&normalized(text), &mut |token| {
            let place = self.place_of(token);
            self.found.push(place);
        });
        let counted = self.counted(weight);
        if counts.is_empty() {
            *counts = counted;
            return;
        }
        for (term, count) in counted {
            let sum = counts.entry(term).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Reads a text of the next chunk, of which each occurrence of a term counts as `weight`.
    pub fn read(&mut self, text: &str, weight: u32) {
        self.forget_many();
        each_token(&normalized(text), &mut |token| {
            let place = self.place_of(token);
            self.count_for_chunk(place, weight);
        });
    }

    /// What is read from now on is of the chunk behind it.
    pub fn end_chunk(&mut self) {
        self.chunks.end_chunk();
    }

    /// The chunks that were read since the last call. One that has not ended ends now.
    #[must_use]
    pub fn take_chunks(&mut self) -> ChunkTerms {
        if self.chunks.has_open_chunk() {
            self.end_chunk();
        }
        self.chunk_terms.clear();
        std::mem::take(&mut self.chunks)
    }

    /// Forgets the words where too many are known. Chunks that were read name places of terms.
    fn forget_many(&mut self) {
        if self.terms.len() > KNOWN_WORDS && self.chunks.is_empty() {
            self.known.clear();
            self.places.clear();
            self.terms.clear();
            self.marks.clear();
        }
    }

    fn place_of(&mut self, token: Token<'_>) -> u32 {
        if let Some(place) = self.known.get(token.text) {
            return *place;
        }
        let term = self.analyzer.term(token);
        let place = self.place_of_term(term);
        if token.text.len() <= LONGEST_KNOWN {
            self.known.insert(token.text.into(), place);
        }
        place
    }

    fn place_of_term(&mut self, term: String) -> u32 {
        if let Some(place) = self.places.get(term.as_str()) {
            return *place;
        }
        // A text that fits into memory has fewer words.
        let place = self.terms.len() as u32;
        let term: Arc<str> = term.into();
        self.places.insert(Arc::clone(&term), place);
        self.terms.push(term);
        self.marks.push(TermMark::default());
        place
    }

    fn count_for_chunk(&mut self, place: u32, weight: u32) {
        let mark = &mut self.marks[place as usize];
        if self.chunk_terms.get(mark.term as usize) != Some(&place) {
            mark.term = self.chunks.add_term(&self.terms[place as usize]);
            self.chunk_terms.push(place);
        }
        self.chunks.count(mark.term, weight, &mut mark.last);
    }

    /// What was found, by terms.
    fn counted(&mut self, weight: u32) -> TermCounts {
        let Self { terms, found, .. } = self;
        found.sort_unstable();
        let same = found.chunk_by(|one, other| one == other);
        let counted = same.map(|same| {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let term = str::to_owned(&terms[same[0] as usize]);
            (term, count.saturating_mul(weight))
        });
        counted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_WORDS, LONGEST_KNOWN, TermCounter};
    use crate::terms::{Analyzer, ChunkTerms, Language, TermCounts};

    fn texts() -> Vec<String> {
        let long = "é".repeat(LONGEST_KNOWN);
        let texts = [
            "Leases of the leaseholder: a lease. The runner runs, running RUN.",
            "responsible responsibility responsibleness responsive abc abcdefgh abcdefghi abcdefghij ab",
            "maxRetries and max_retries; 中文字 中 文字 한국어 Straße straße",
            &long,
            "",
            "lease leases",
        ];
        texts.map(str::to_owned).to_vec()
    }

    /// As one would count: a token after the other.
    fn plainly(analyzer: Analyzer, text: &str, weight: u32, counts: &mut TermCounts) {
        super::each_token(&super::normalized(text), &mut |token| {
            let sum = counts.entry(analyzer.term(token)).or_default();
            *sum = sum.saturating_add(weight);
        });
    }

    #[test]
    fn a_counter_counts_as_one_would_plainly() {
        let texts = texts();
        for language in [Language::Auto, Language::None, Language::German] {
            let analyzer = Analyzer::new(language);
            let mut counter = TermCounter::new(analyzer);
            for text in texts.iter().chain(&texts) {
                let (mut counts, mut expected) = (TermCounts::new(), TermCounts::new());
                for (part, weight) in [(text.as_str(), 1), ("A lease", 2), (text, u32::MAX)] {
                    counter.count(part, weight, &mut counts);
                    plainly(analyzer, part, weight, &mut expected);
                }
                assert_eq!(counts, expected, "{text} in {language}");
            }
        }
    }

    /// The terms of chunks in their order, with what the chunks have of them, and the lengths.
    fn listed(chunks: &ChunkTerms) -> (Vec<String>, Vec<u32>) {
        let mut terms = Vec::new();
        chunks.each_term(&mut |term, chunks| terms.push(format!("{term} {chunks:?}")));
        (terms, chunks.lengths().to_vec())
    }

    /// Reads a text as a chunk with a title; what it would be if it were counted plainly.
    fn read(counter: &mut TermCounter, text: &str) -> TermCounts {
        let mut expected = TermCounts::new();
        for (part, weight) in [(text, 1), ("A lease", 2)] {
            counter.read(part, weight);
            plainly(counter.analyzer, part, weight, &mut expected);
        }
        counter.end_chunk();
        // What is counted meanwhile is none of theirs.
        counter.count("a lease meanwhile", 1, &mut TermCounts::new());
        expected
    }

    #[test]
    fn chunks_that_are_read_have_the_terms_that_are_counted() {
        let texts = texts();
        for language in [Language::Auto, Language::None, Language::German] {
            let mut counter = TermCounter::new(Analyzer::new(language));
            for texts in [&texts[..2], &texts[1..], &[], &texts[..]] {
                let expected = texts.iter().map(|text| read(&mut counter, text));
                let expected: Vec<TermCounts> = expected.collect();
                let read = counter.take_chunks();
                let expected = ChunkTerms::of(&expected);
                assert_eq!(listed(&read), listed(&expected), "{language}");
            }
        }
    }

    #[test]
    fn words_are_not_forgotten_while_chunks_are_read() {
        let words: Vec<String> = (0..=KNOWN_WORDS).map(|word| word.to_string()).collect();
        let mut counter = TermCounter::new(Analyzer::default());
        for text in [words.join(" "), "1 one".to_owned()] {
            counter.read(&text, 1);
            counter.end_chunk();
        }
        let chunks = counter.take_chunks();
        assert_eq!(chunks.terms().count(), KNOWN_WORDS + 2);
        assert_eq!(chunks.lengths(), [KNOWN_WORDS as u32 + 1, 2]);
        counter.read("2", 1);
        assert_eq!((counter.known.len(), counter.terms.len()), (1, 1));
        assert_eq!(counter.take_chunks().lengths(), [1]);
    }

    #[test]
    fn no_more_words_are_remembered_than_that() {
        let words: Vec<String> = (0..=KNOWN_WORDS).map(|word| word.to_string()).collect();
        let mut counter = TermCounter::new(Analyzer::default());
        for text in [words.join(" "), "1 one".to_owned()] {
            let mut counts = TermCounts::new();
            counter.count(&text, 1, &mut counts);
            assert_eq!(counts["1"], 1);
        }
        assert_eq!((counter.known.len(), counter.terms.len()), (2, 2));
        counter.count(&"é".repeat(100), 1, &mut TermCounts::new());
        assert_eq!((counter.known.len(), counter.terms.len()), (2, 3));
    }
}
