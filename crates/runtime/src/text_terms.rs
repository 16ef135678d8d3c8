//! The terms of texts that people and agents wrote, and what is shown of them.

use crate::error::{Error, ErrorCode};
use ambit_search::terms::{Analyzer, QueryTerm, Snippet, TermCounts, snippet};

/// How many characters of a text are shown.
const SNIPPET: usize = 200;

/// How often a search begins again because others write.
const TRIES: usize = 64;

/// Texts of people and agents have no language of their own: each word goes by its script.
pub fn analyzer() -> Analyzer {
    Analyzer::default()
}

/// The terms of a text.
pub fn terms_of(text: &str) -> TermCounts {
    let mut counts = TermCounts::new();
    analyzer().count(text, 1, &mut counts);
    counts
}

/// What is shown of a text in which these were looked for.
pub fn snippet_of(text: &str, terms: &[QueryTerm]) -> Snippet {
    snippet(text, terms, &analyzer(), SNIPPET)
}

/// Whether a search that has failed is to be tried again.
pub fn is_to_repeat(error: &Error, tries: &mut usize) -> bool {
    *tries += 1;
    error.code == ErrorCode::Conflict && *tries < TRIES
}
