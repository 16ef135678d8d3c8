//! The vectors of queries, kept for ten minutes.

use super::KnowledgeBase;
use crate::embedder::{EmbeddingPayer, EmbeddingRequest};
use crate::query::EmbeddingTokens;
use crate::records::CollectionRecord;
use ambit_search::vectors::{EmbeddingSpace, QueryVector};
use quick_cache::sync::Cache;
use std::time::{Duration, Instant};

/// How long the vector of a query is kept.
const KEPT: Duration = Duration::from_secs(600);
/// How long a search waits for one.
const WAIT: Duration = Duration::from_secs(2);
/// So many are kept.
const QUERIES: usize = 1_000;

/// Vectors of queries that were asked before.
pub(super) struct QueryVectors(Cache<QueryId, (Instant, Vec<f32>)>);

/// A query as it was embedded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct QueryId {
    space: EmbeddingSpace,
    text: String,
}

impl Default for QueryVectors {
    fn default() -> Self {
        Self(Cache::new(QUERIES))
    }
}

impl KnowledgeBase {
    /// What a query looks for among the vectors of a collection, or the note that says why it does not.
    pub(super) async fn query_vector(
        &self,
        collection: &CollectionRecord,
        query: &str,
        used: &mut Vec<EmbeddingTokens>,
    ) -> Result<Option<QueryVector>, String> {
        let index = &collection.index;
        let (Some(settings), Some(space)) = (&index.embedding, index.space()) else {
            return Ok(None);
        };
        let text = format!("{}{query}", settings.query_prefix);
        let id = QueryId {
            space: space.clone(),
            text: text.clone(),
        };
        let known = self.shared.query_vectors.0.get(&id);
        if let Some((_, vector)) = known.filter(|(at, _)| at.elapsed() < KEPT) {
            return Ok(Some(QueryVector { space, vector }));
        }
        let connector = &settings.connector;
        let note = |why: &str| format!("words only: embedding connector \"{connector}\" {why}");
        let Some(embedder) = &self.settings().embedder else {
            return Err(note("is unavailable"));
        };
        let request = EmbeddingRequest {
            connector: connector.clone(),
            dimensions: settings.dimensions,
            texts: vec![text],
            payer: EmbeddingPayer::Caller,
        };
        let answer = tokio::time::timeout(WAIT, embedder.embed(&request)).await;
        let Ok(Ok(answer)) = answer else {
            return Err(note("is unavailable"));
        };
        if answer.tokens > 0 {
            used.push(EmbeddingTokens {
                connector: connector.clone(),
                model: answer.model.clone(),
                tokens: answer.tokens,
            });
        }
        let vector = answer.vectors.into_iter().next().unwrap_or_default();
        if answer.model != space.model || space.check(&vector).is_err() {
            return Err(note(
                "answers otherwise than it did for the documents, reindex",
            ));
        }
        self.shared
            .query_vectors
            .0
            .insert(id, (Instant::now(), vector.clone()));
        Ok(Some(QueryVector { space, vector }))
    }
}
