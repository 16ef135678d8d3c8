//! The terms of a text, version 1: NFKC, the words of UAX #29 and pairs of letters, full case folding, stems. What indexes a text
//! and what reads a query go through the same steps, on every store.

pub(crate) mod characters;
mod chunk_terms;
mod counter;
mod fold;
mod language;
mod script;
mod snippet;
mod stop_words;
mod token;

pub use chunk_terms::ChunkTerms;
pub use counter::{TermCounter, WeightedText};
pub use language::{Language, UnknownLanguage};
pub use snippet::{Snippet, snippet};

use fold::{cut, folded, normalized, stemmed, unmarked};
use script::language_of;
use std::collections::{BTreeMap, HashSet};
use stop_words::is_stop_word;
use token::{Token, TokenKind, each_token};

/// What an index says of the terms it holds. One with another version is made anew.
pub const TERMS_VERSION: u32 = 1;

/// How many terms of a query count.
const LONGEST_QUERY: usize = 128;

/// How often each term occurs.
pub type TermCounts = BTreeMap<String, u32>;

/// What a query asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryTerm {
    /// This term.
    Exact(String),
    /// Each term that begins so.
    Prefix(String),
}

/// Makes terms of the texts and queries of one language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Analyzer {
    language: Language,
}

impl Analyzer {
    /// For texts in this language.
    pub fn new(language: Language) -> Self {
        Self { language }
    }

    /// Adds the terms of a text, each occurrence as `weight`. Who counts many texts is quicker with one `TermCounter`.
    pub fn count(&self, text: &str, weight: u32, counts: &mut TermCounts) {
        let mut counter = TermCounter::new(*self);
        counter.read_chunk([WeightedText { text, weight }]);
        counter.take_chunks().each_term(&mut |term, found| {
            let sum = counts.entry(term.to_owned()).or_default();
            for chunk in found {
                *sum = sum.saturating_add(chunk.count);
            }
        });
    }

    /// The terms that a query asks for, each once, in the order of the query. Stop words are among them only where there is
    /// nothing else.
    pub fn query(&self, text: &str) -> Vec<QueryTerm> {
        let text = normalized(text);
        let text = text.trim_end();
        let words = text.trim_end_matches('*');
        let has_star = words.len() < text.len();
        let (mut terms, mut stop_words) = (Vec::new(), Vec::new());
        let mut prefix = None;
        each_token(words, &mut |token| {
            let is_last = token.at + token.text.len() == words.len();
            if has_star && is_last && token.kind == TokenKind::Word {
                prefix = Some(token.at);
            }
            let is_prefix = prefix.is_some_and(|start| start <= token.at);
            match token.kind {
                TokenKind::Part if is_prefix => {}
                TokenKind::Word if is_prefix => {
                    add(QueryTerm::Prefix(unmarked(folded(token.text))), &mut terms);
                }
                TokenKind::Letter => add(QueryTerm::Prefix(self.term(token)), &mut terms),
                _ if self.is_stop_word(token) => {
                    add(QueryTerm::Exact(self.term(token)), &mut stop_words);
                }
                _ => add(QueryTerm::Exact(self.term(token)), &mut terms),
            }
        });
        if terms.is_empty() { stop_words } else { terms }
    }

    /// The words of a query as they are written, each once and in their order; of letters that are paired, the pairs. Stop words
    /// are among them only where there is nothing else.
    pub fn words(&self, text: &str) -> Vec<String> {
        let (mut words, mut stop_words) = (Vec::new(), Vec::new());
        // A word is always of the same list.
        let mut seen = HashSet::new();
        each_token(&normalized(text), &mut |token| {
            let list: &mut Vec<String> = match token.kind {
                TokenKind::Part => return,
                _ if self.is_stop_word(token) => &mut stop_words,
                _ => &mut words,
            };
            if !seen.contains(token.text) {
                seen.insert(token.text.to_owned());
                list.push(token.text.to_owned());
            }
        });
        if words.is_empty() { stop_words } else { words }
    }

    fn term(&self, token: Token<'_>) -> String {
        let folded = folded(token.text);
        match token.kind {
            TokenKind::Pair | TokenKind::Letter => cut(folded),
            TokenKind::Word | TokenKind::Part => {
                let language = self.language_of(&folded);
                stemmed(folded, language)
            }
        }
    }

    fn is_stop_word(&self, token: Token<'_>) -> bool {
        let folded = folded(token.text);
        is_stop_word(&folded, self.language_of(&folded))
    }

    fn language_of(&self, word: &str) -> Language {
        match self.language {
            Language::Auto => language_of(word),
            set => set,
        }
    }
}

fn add(term: QueryTerm, terms: &mut Vec<QueryTerm>) {
    if terms.len() < LONGEST_QUERY && !terms.contains(&term) {
        terms.push(term);
    }
}

#[cfg(test)]
mod tests;
