//! A reference: an item with a citation id, as clients are told of it.

use super::SearchItem;
use crate::outbox::AgentOutbox;
use serde::Serialize;
use serde_json::json;

/// Characters of a snippet.
const SNIPPET: usize = 200;

/// An item that can be cited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchReference {
    /// Its citation id.
    pub id: String,
    /// The same as a number.
    pub index: u64,
    /// The beginning of its content.
    pub snippet: String,
    /// What was found.
    #[serde(flatten)]
    pub item: SearchItem,
}

impl SearchReference {
    /// A reference to an item that has its citation id.
    pub fn of(item: &SearchItem) -> Self {
        Self {
            id: item.citation_id.clone(),
            index: item.citation_id.parse().unwrap_or_default(),
            snippet: item.content.chars().take(SNIPPET).collect(),
            item: item.clone(),
        }
    }
}

/// Tells whoever follows the turn of references: an event for the items of one search, none where it found nothing.
pub fn announce(outbox: &AgentOutbox, items: &[SearchItem]) {
    if items.is_empty() {
        return;
    }
    let references: Vec<SearchReference> = items.iter().map(SearchReference::of).collect();
    outbox.emit("references", json!({"references": references}));
}
