//! Counting the terms of many texts: the stem of a word is most of the work, and texts of one kind share most of their words.

use super::chunk_terms::{ChunkCount, ChunkTerms, TermOccurrence};
use super::token::{Token, each_token};
use super::{Analyzer, normalized};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Of so many words the terms are remembered.
const KNOWN_WORDS: usize = 1 << 16;

/// Longer words are not worth it, in bytes.
const LONGEST_KNOWN: usize = 64;

/// A text of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightedText<'a> {
    /// The text.
    pub text: &'a str,
    /// What each occurrence of a term counts.
    pub weight: u32,
}

/// Counts the terms of many texts. The term of a word is worked out once, as long as not too many words are known.
pub struct TermCounter {
    analyzer: Analyzer,
    /// The terms of words, by their places. Words and pairs of letters have no text in common.
    known: HashMap<Box<str>, u32, RandomState>,
    /// Each term once: those of known words, and of others.
    terms: Vec<Arc<str>>,
    places: HashMap<Arc<str>, u32, RandomState>,
    /// The occurrence that each term had last. What stands there now may be of another term or chunk.
    last: Vec<u32>,
    /// By chunk that was read, with the places of their terms.
    occurrences: Vec<TermOccurrence>,
    /// The lengths of these chunks.
    lengths: Vec<u32>,
}

impl TermCounter {
    /// Counts as this analyzer does.
    pub fn new(analyzer: Analyzer) -> Self {
        Self {
            analyzer,
            known: HashMap::default(),
            terms: Vec::new(),
            places: HashMap::default(),
            last: Vec::new(),
            occurrences: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// Reads the next chunk, which consists of these texts.
    pub fn read_chunk<'a>(&mut self, texts: impl IntoIterator<Item = WeightedText<'a>>) {
        self.forget_many();
        let mut length = 0_u32;
        for WeightedText { text, weight } in texts {
            each_token(&normalized(text), &mut |token| {
                let place = self.place_of(token);
                self.count(place, weight);
                length = length.saturating_add(weight);
            });
        }
        self.lengths.push(length);
    }

    /// The chunks that were read since the last call.
    #[must_use]
    pub fn take_chunks(&mut self) -> ChunkTerms {
        let occurrences = std::mem::take(&mut self.occurrences);
        let lengths = std::mem::take(&mut self.lengths);
        ChunkTerms::numbered(occurrences, lengths, &self.terms)
    }

    /// Forgets the words where too many are known. Chunks that were read name places of terms.
    fn forget_many(&mut self) {
        if self.terms.len() > KNOWN_WORDS && self.lengths.is_empty() {
            self.known.clear();
            self.places.clear();
            self.terms.clear();
            self.last.clear();
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
        self.last.push(0);
        place
    }

    /// Counts a term for the chunk that is read.
    fn count(&mut self, place: u32, weight: u32) {
        let chunk = self.lengths.len() as u32;
        let last = &mut self.last[place as usize];
        match self.occurrences.get_mut(*last as usize) {
            Some(known) if known.term == place && known.within.chunk == chunk => {
                known.within.count = known.within.count.saturating_add(weight);
            }
            _ => {
                *last = self.occurrences.len() as u32;
                let count = weight;
                self.occurrences.push(TermOccurrence {
                    term: place,
                    within: ChunkCount { chunk, count },
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_WORDS, LONGEST_KNOWN, TermCounter, WeightedText};
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
    fn a_text_is_counted_as_one_would_plainly() {
        for language in [Language::Auto, Language::None, Language::German] {
            let analyzer = Analyzer::new(language);
            for text in &texts() {
                let text = text.as_str();
                let (mut counts, mut expected) = (TermCounts::new(), TermCounts::new());
                for (part, weight) in [(text, 1), ("A lease", 2), (text, u32::MAX)] {
                    analyzer.count(part, weight, &mut counts);
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

    fn plain(text: &str) -> WeightedText<'_> {
        WeightedText { text, weight: 1 }
    }

    /// Reads a text as a chunk with a title; what it would be if it were counted plainly.
    fn read(counter: &mut TermCounter, text: &str) -> TermCounts {
        let title = WeightedText {
            text: "A lease",
            weight: 2,
        };
        let texts = [plain(text), title];
        counter.read_chunk(texts);
        let mut expected = TermCounts::new();
        for WeightedText { text, weight } in texts {
            plainly(counter.analyzer, text, weight, &mut expected);
        }
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
            counter.read_chunk([plain(&text)]);
        }
        let chunks = counter.take_chunks();
        assert_eq!(chunks.terms().count(), KNOWN_WORDS + 2);
        assert_eq!(chunks.lengths(), [KNOWN_WORDS as u32 + 1, 2]);
    }

    #[test]
    fn no_more_words_are_remembered_than_that() {
        let words: Vec<String> = (0..=KNOWN_WORDS).map(|word| word.to_string()).collect();
        let mut counter = TermCounter::new(Analyzer::default());
        for text in [words.join(" "), "1 one".to_owned()] {
            let expected = ChunkTerms::of(&[read(&mut counter, &text)]);
            assert_eq!(listed(&counter.take_chunks()), listed(&expected));
        }
        // Those of the title too.
        assert_eq!((counter.known.len(), counter.terms.len()), (4, 4));
        counter.read_chunk([plain(&"é".repeat(100))]);
        assert_eq!((counter.known.len(), counter.terms.len()), (4, 5));
    }
}
