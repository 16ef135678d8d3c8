//! The searches themselves, and the order of what they find.

use super::AgentSearch;
use super::step::within;
use crate::search::{ItemSource, SearchItem, SearchKind, SearchRequest, SearchResult};
use futures::future::join_all;
use serde_json::json;
use std::collections::HashSet;

impl AgentSearch<'_> {
    /// Searches all of these at once; what is late or fails has an error.
    pub(super) async fn search(
        &self,
        types: &[SearchKind],
        keywords: Option<String>,
    ) -> Vec<SearchResult> {
        let searches = types
            .iter()
            .map(|kind| self.search_one(*kind, keywords.as_deref()));
        let mut results = join_all(searches).await;
        self.weigh(results.iter_mut().map(|result| &mut result.items));
        results
    }

    async fn search_one(&self, kind: SearchKind, keywords: Option<&str>) -> SearchResult {
        let query = match kind {
            SearchKind::Web => keywords.unwrap_or(&self.question.query),
            _ => &self.question.query,
        };
        let request = SearchRequest::plain(kind, query);
        let searched = self.searcher.run(&request, ItemSource::Auto);
        let searched = within(self.asker.deadline, searched).await;
        searched.unwrap_or_else(|why| {
            let mut result = self.result(kind);
            result.fail(why);
            result
        })
    }

    /// The results that somebody has answered with in place of an intent.
    pub(super) fn results_of(&self, items: &[SearchItem]) -> Vec<SearchResult> {
        let mut results: Vec<SearchResult> = Vec::new();
        for kind in SearchKind::ALL {
            let own = items.iter().filter(|item| item.kind == kind);
            let own: Vec<SearchItem> = own.cloned().collect();
            if !own.is_empty() {
                let mut result = self.result(kind);
                result.set_items(own);
                results.push(result);
            }
        }
        self.weigh(results.iter_mut().map(|result| &mut result.items));
        results
    }

    fn result(&self, kind: SearchKind) -> SearchResult {
        SearchResult {
            kind,
            query: self.question.query.clone(),
            source: ItemSource::Auto,
            ..SearchResult::default()
        }
    }

    /// Leaves out what is there already, and says how much items count.
    fn weigh<'i>(&self, lists: impl Iterator<Item = &'i mut Vec<SearchItem>>) {
        let mut known = HashSet::new();
        for items in lists {
            items.retain(|item| identity(item).is_none_or(|identity| known.insert(identity)));
            for item in items {
                item.weight = self.searcher.weight(item.source);
            }
        }
    }

    /// The items in the order that the app wants.
    pub(super) async fn ranked(&self, items: Vec<SearchItem>) -> Vec<SearchItem> {
        let named = self.plan.call.uses("rerank");
        let is_wanted = named.is_some() || self.effective.is_reranked;
        if items.len() < 2 || !is_wanted || named == Some("disabled") {
            return items;
        }
        if named.is_some_and(|named| self.asker.target("rerank", named).is_none()) {
            return items;
        }
        let query = &self.question.query;
        let top_n = self.effective.settings.rerank.top_n;
        let ranked = self.searcher.rerank(query, items.clone(), top_n);
        let why = match within(self.asker.deadline, ranked).await {
            Ok(ranked) => return ranked,
            Err(why) => why,
        };
        let named = named.unwrap_or("builtin");
        self.asker.node.warn(format!("uses.rerank, {named}: {why}"));
        items
    }
}

/// By what an item is told to be the same as another one.
fn identity(item: &SearchItem) -> Option<String> {
    let identity = match (item.kind, &item.knowledge, &item.record) {
        (SearchKind::Kb, Some(place), _) => {
            json!([place.collection, place.document_id, place.chunk_id])
        }
        (SearchKind::Db, _, Some(record)) => json!([record.model, record.record_id.as_ref()?]),
        _ if !item.url.is_empty() => json!([item.url]),
        _ => return None,
    };
    Some(json!([item.kind, identity]).to_string())
}
