//! Counting the terms of many texts: the stem of a word is most of the work, and texts of one kind share most of their words.

use super::token::{Token, each_token};
use super::{Analyzer, TermCounts, normalized};
use foldhash::fast::RandomState;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Of so many words the terms are remembered.
const KNOWN_WORDS: usize = 1 << 16;

/// Longer words are not worth it, in bytes.
const LONGEST_KNOWN: usize = 64;

/// Counts the terms of many texts. The term of a word is worked out once, as long as not too many words are known.
pub struct TermCounter {
    analyzer: Analyzer,
    /// The terms of words. Words and pairs of letters have no text in common.
    known: HashMap<Box<str>, FoundTerm, RandomState>,
    /// Terms of known words, and of others of the text under way. Words may have the same.
    terms: Vec<String>,
    /// What was found in the text under way.
    found: Vec<FoundTerm>,
}

/// A term in `TermCounter::terms`.
#[derive(Clone, Copy)]
struct FoundTerm {
    /// Its first eight bytes, which mostly say which of two comes first.
    start: u64,
    place: u32,
}

impl FoundTerm {
    fn of(term: &str, place: u32) -> Self {
        let mut start = [0; 8];
        let length = term.len().min(start.len());
        start[..length].copy_from_slice(&term.as_bytes()[..length]);
        Self {
            start: u64::from_be_bytes(start),
            place,
        }
    }

    fn compare(&self, other: &Self, terms: &[String]) -> Ordering {
        let whole = |found: &Self| terms[found.place as usize].as_str();
        self.start
            .cmp(&other.start)
            .then_with(|| match self.place == other.place {
                true => Ordering::Equal,
                false => whole(self).cmp(whole(other)),
            })
    }
}

impl TermCounter {
    /// Counts as this analyzer does.
    pub fn new(analyzer: Analyzer) -> Self {
        Self {
            analyzer,
            known: HashMap::default(),
            terms: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Adds the terms of a text, each occurrence as `weight`.
    pub fn count(&mut self, text: &str, weight: u32, counts: &mut TermCounts) {
        if self.terms.len() > KNOWN_WORDS {
            self.known.clear();
            self.terms.clear();
        }
        self.found.clear();
        each_token(&normalized(text), &mut |token| self.find(token));
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

    fn find(&mut self, token: Token<'_>) {
        if let Some(found) = self.known.get(token.text) {
            self.found.push(*found);
            return;
        }
        let term = self.analyzer.term(token);
        // A text that fits into memory has fewer words.
        let found = FoundTerm::of(&term, self.terms.len() as u32);
        self.terms.push(term);
        self.found.push(found);
        if token.text.len() <= LONGEST_KNOWN {
            self.known.insert(token.text.into(), found);
        }
    }

    /// What was found, by terms.
    fn counted(&mut self, weight: u32) -> TermCounts {
        let Self { terms, found, .. } = self;
        found.sort_unstable_by(|one, other| one.compare(other, terms));
        let same = found.chunk_by(|one, other| one.compare(other, terms).is_eq());
        let counted = same.map(|same| {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let term = terms[same[0].place as usize].clone();
            (term, count.saturating_mul(weight))
        });
        counted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_WORDS, LONGEST_KNOWN, TermCounter};
    use crate::terms::{Analyzer, Language, TermCounts};

    /// As one would count: a token after the other.
    fn plainly(analyzer: Analyzer, text: &str, weight: u32, counts: &mut TermCounts) {
        super::each_token(&super::normalized(text), &mut |token| {
            let sum = counts.entry(analyzer.term(token)).or_default();
            *sum = sum.saturating_add(weight);
        });
    }

    #[test]
    fn a_counter_counts_as_one_would_plainly() {
        let long = "é".repeat(LONGEST_KNOWN);
        let texts = [
            "Leases of the leaseholder: a lease. The runner runs, running RUN.",
            "responsible responsibility responsibleness responsive abc abcdefgh abcdefghi abcdefghij ab",
            "maxRetries and max_retries; 中文字 中 文字 한국어 Straße straße",
            &long,
            "",
            "lease leases",
        ];
        for language in [Language::Auto, Language::None, Language::German] {
            let analyzer = Analyzer::new(language);
            let mut counter = TermCounter::new(analyzer);
            for text in texts.iter().chain(&texts) {
                let (mut counts, mut expected) = (TermCounts::new(), TermCounts::new());
                for (part, weight) in [(*text, 1), ("A lease", 2), (*text, u32::MAX)] {
                    counter.count(part, weight, &mut counts);
                    plainly(analyzer, part, weight, &mut expected);
                }
                assert_eq!(counts, expected, "{text} in {language}");
            }
        }
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
