//! The references of a turn: what its searches found, numbered 1, 2, 3 … over hooks, delegates and automatic search.

use super::{SearchItem, SearchResult};
use crate::lock::lock;
use std::sync::Mutex;

/// References of one turn.
const MOST: usize = 200;

/// The references of one turn. Whoever searches for the turn adds to the same list; a call of an agent has a list of its own.
#[derive(Debug, Default)]
pub struct TurnReferences(Mutex<NumberedItems>);

#[derive(Debug, Default)]
struct NumberedItems {
    items: Vec<SearchItem>,
    /// So many of them are in the turn's journal.
    journaled: usize,
}

impl TurnReferences {
    /// Those that the journal of a turn holds.
    pub fn resume(items: Vec<SearchItem>) -> Self {
        let journaled = items.len();
        Self(Mutex::new(NumberedItems { items, journaled }))
    }

    /// Makes references of what finished searches found: the items get their ids in the order of the results, and those that are
    /// too large are cut. A search with more items than a turn may have references fails.
    pub fn add<'a>(&self, results: impl IntoIterator<Item = &'a mut SearchResult>) {
        let mut results: Vec<&mut SearchResult> = results.into_iter().collect();
        results.iter_mut().for_each(|result| shorten(result));
        let mut list = lock(&self.0);
        for result in results {
            if list.items.len() + result.items.len() > MOST {
                result.fail(format!("a turn has at most {MOST} references"));
                continue;
            }
            for item in &mut result.items {
                item.citation_id = (list.items.len() + 1).to_string();
                list.items.push(item.clone());
            }
        }
    }

    /// All of them, by their ids.
    pub fn all(&self) -> Vec<SearchItem> {
        lock(&self.0).items.clone()
    }

    /// Those that are in no journal yet. The journal holds them from now on.
    pub fn take_new(&self) -> Vec<SearchItem> {
        let mut list = lock(&self.0);
        let new = list.items[list.journaled..].to_vec();
        list.journaled = list.items.len();
        new
    }

    /// Drops what is in no journal: the step that found it is done once more.
    pub fn drop_new(&self) {
        let mut list = lock(&self.0);
        let journaled = list.journaled;
        list.items.truncate(journaled);
    }
}

fn shorten(result: &mut SearchResult) {
    let items = result.items.iter_mut();
    let count = items
        .filter_map(|item| item.shorten().then_some(()))
        .count();
    if count > 0 {
        let note = format!("{count} of the items are cut: one has at most 20 KiB");
        result.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(items: usize) -> SearchResult {
        let mut result = SearchResult::default();
        result.set_items(vec![SearchItem::default(); items]);
        result
    }

    fn ids(items: &[SearchItem]) -> Vec<&str> {
        items.iter().map(|item| item.citation_id.as_str()).collect()
    }

    #[test]
    fn items_are_numbered_in_the_order_of_the_results() {
        let references = TurnReferences::default();
        let (mut first, mut none, mut second) = (result(2), result(0), result(1));
        references.add([&mut first, &mut none, &mut second]);
        assert_eq!(ids(&first.items), ["1", "2"]);
        assert_eq!(ids(&second.items), ["3"]);
        assert_eq!(ids(&references.all()), ["1", "2", "3"]);
    }

    #[test]
    fn what_is_not_journaled_is_dropped_with_its_step_and_its_ids_are_given_again() {
        let references = TurnReferences::default();
        references.add([&mut result(2)]);
        assert_eq!(ids(&references.take_new()), ["1", "2"]);
        references.add([&mut result(2)]);
        references.drop_new();
        let resumed = TurnReferences::resume(references.all());
        assert!(resumed.take_new().is_empty());
        for references in [references, resumed] {
            references.add([&mut result(1)]);
            assert_eq!(ids(&references.take_new()), ["3"]);
        }
    }

    #[test]
    fn a_search_with_too_many_items_fails_and_leaves_no_gap() {
        let references = TurnReferences::default();
        let (mut full, mut more, mut last) = (result(199), result(2), result(1));
        references.add([&mut full, &mut more, &mut last]);
        assert_eq!(
            more.error.as_deref(),
            Some("a turn has at most 200 references")
        );
        assert_eq!((more.total, more.items.len()), (0, 0));
        assert_eq!(ids(&last.items), ["200"]);
    }
}
