//! Recall: what was said and remembered, found by its words. Conversations have an index for each owner, which follows their
//! logs when it is searched; what it does not have yet is read and ranked with it, so that an answer is complete.

mod history;
mod memory;
mod messages;
mod owner_index;
mod sessions;
mod settings;
mod unindexed;

pub use memory::{MemoryMatch, MemorySearch};
pub use messages::{ChatMessageMatch, MessageSearch, search_messages};
pub use sessions::{
    ChatMatch, ChatMatches, MessageMatch, SearchedOwners, SessionSearch, search_sessions,
};
pub use settings::RecallSettings;

use ambit_search::terms::{Analyzer, Snippet, TermCounts, snippet};

/// How many characters of a text are shown.
const SNIPPET: usize = 200;

/// Texts of people and agents have no language of their own: each word goes by its script.
fn analyzer() -> Analyzer {
    Analyzer::default()
}

fn terms_of(text: &str) -> TermCounts {
    let mut counts = TermCounts::new();
    analyzer().count(text, 1, &mut counts);
    counts
}

fn snippet_of(text: &str, terms: &[ambit_search::terms::QueryTerm]) -> Snippet {
    snippet(text, terms, &analyzer(), SNIPPET)
}
