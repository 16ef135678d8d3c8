//! Searching collections of knowledge, within what the caller may see of them.

use super::request::KnowledgeTarget;
use super::searcher::SearchNode;
use super::{KnowledgeFields, SearchItem, SearchRequest, SearchResult, Searcher, book_embedding};
use crate::access::CallerReach;
use ambit_knowledge::{EmbeddingTokens, KnowledgeItem, KnowledgeQuery};
use serde_json::json;

impl Searcher {
    pub(super) async fn search_kb(
        &self,
        request: &SearchRequest,
        target: &KnowledgeTarget,
        result: &mut SearchResult,
    ) -> Result<(), String> {
        let settings = &self.settings.kb;
        if target.has_graph {
            result.graph_nodes = Some(Vec::new());
        }
        let named = target.collections.as_ref();
        let collections = named.unwrap_or(&settings.collections);
        if collections.is_empty() {
            return Err("no collections: set search.kb.collections, or name some".to_owned());
        }
        let Some(base) = &self.context.knowledge else {
            return Err(format!(
                "collection \"{}\" not found",
                collections.join("\", \"")
            ));
        };
        let query = KnowledgeQuery {
            query: request.query.clone(),
            collections: collections.clone(),
            leaves_out_gone: false,
            document_id: target.document_id.clone(),
            metadata: target.filter.clone(),
            threshold: target.threshold.unwrap_or(settings.threshold),
            limit: request.limit.unwrap_or(settings.max_results),
            // An agent that is refused answers as if there were nothing; how many turns there are has limits of its own.
            is_counted: false,
        };
        let reach = CallerReach::of(&self.authorized);
        let answer = base.search(&reach, &query).await;
        let answer = answer.map_err(|error| self.told(error.into()))?;
        for used in &answer.used {
            book_embedding(&self.context.book, used);
            self.trace_embedding(used);
        }
        if let Some(why) = answer.error {
            return Err(why);
        }
        result.notes.extend(answer.notes);
        result.set_items(answer.items.into_iter().map(SearchItem::from).collect());
        Ok(())
    }

    /// Shows in the trace who has made a vector of the query.
    fn trace_embedding(&self, used: &EmbeddingTokens) {
        let asked = json!({"connector": used.connector, "model": used.model});
        let node = SearchNode::begin(&self.node, "embed", asked);
        node.complete(json!({"count": 1, "usage": {"total_tokens": used.tokens}}));
    }
}

/// Ids, sources and weights are given to it later.
impl From<KnowledgeItem> for SearchItem {
    fn from(found: KnowledgeItem) -> Self {
        Self {
            score: found.score,
            title: found.title,
            content: found.content,
            url: found.url,
            metadata: found.metadata,
            knowledge: Some(KnowledgeFields {
                document_id: found.document_id,
                collection: found.collection,
                chunk_id: found.chunk_id,
                heading: found.heading,
                page: found.page.map(u64::from),
                range: found.range,
            }),
            ..Self::default()
        }
    }
}
