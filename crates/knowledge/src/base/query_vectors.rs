//! The vectors of queries, kept for ten minutes.

use super::KnowledgeBase;
use super::lookup::AccessKind;
use crate::embedder::{EmbeddingPayer, EmbeddingRequest};
use crate::index_record::IndexRecord;
use crate::query::{EmbeddingTokens, KnowledgeQuery};
use crate::reach::KnowledgeReach;
use ambit_search::vectors::{EmbeddingSpace, QueryVector};
use futures::future::join_all;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long the vector of a query is kept.
const KEPT: Duration = Duration::from_secs(600);
/// How long a search waits for one.
const WAIT: Duration = Duration::from_secs(2);
/// So many are kept.
const QUERIES: usize = 1_000;

/// Vectors of queries that were asked before.
pub(super) struct QueryVectors(Cache<TenantQuery, (Instant, Vec<f32>)>);

/// A query of somebody of a tenant: no other learns that it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TenantQuery {
    tenant: String,
    id: QueryId,
}

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

/// What one search looks for among vectors, or the notes that say why it does not. Each is asked for once, however often the
/// search begins again.
pub(super) struct SearchVectors {
    vectors: HashMap<QueryId, Result<QueryVector, String>>,
    /// What they took.
    pub used: Vec<EmbeddingTokens>,
}

impl QueryId {
    fn of(index: &IndexRecord, query: &str) -> Option<Self> {
        let prefix = &index.embedding.as_ref()?.query_prefix;
        Some(Self {
            space: index.space()?,
            text: format!("{prefix}{query}"),
        })
    }
}

impl SearchVectors {
    /// For the vectors of an index; nothing where it has none, or none that were asked for.
    pub fn of(&self, index: &IndexRecord, query: &str) -> Result<Option<QueryVector>, String> {
        let found = QueryId::of(index, query).and_then(|id| self.vectors.get(&id));
        found.cloned().transpose()
    }
}

impl KnowledgeBase {
    /// Asks for the vectors of a query, all at once: an embedder that does not answer delays a search by its own wait alone.
    pub(super) async fn search_vectors(
        &self,
        reach: &dyn KnowledgeReach,
        query: &KnowledgeQuery,
    ) -> SearchVectors {
        let mut asked = HashMap::new();
        for id in &query.collections {
            // What cannot be found is told by the search itself.
            let found = self.find_collection(reach, id, AccessKind::Read).await;
            let Ok(found) = found else { continue };
            if let Some(id) = QueryId::of(&found.value.index, &query.query) {
                asked.insert(id, found.value.index);
            }
        }
        let answers = asked.into_iter().map(|(id, index)| async move {
            let mut used = Vec::new();
            let asked = TenantQuery {
                tenant: reach.tenant().to_owned(),
                id: id.clone(),
            };
            let vector = self.query_vector(&index, asked, &mut used).await;
            (id, vector, used)
        });
        let (mut vectors, mut all_used) = (HashMap::new(), Vec::new());
        for (id, vector, used) in join_all(answers).await {
            vectors.insert(id, vector);
            all_used.extend(used);
        }
        SearchVectors {
            vectors,
            used: all_used,
        }
    }

    async fn query_vector(
        &self,
        index: &IndexRecord,
        query: TenantQuery,
        used: &mut Vec<EmbeddingTokens>,
    ) -> Result<QueryVector, String> {
        let Some(settings) = &index.embedding else {
            return Err("words only: the collection has no embedding".to_owned());
        };
        let (space, text) = (query.id.space.clone(), query.id.text.clone());
        let known = self.shared.query_vectors.0.get(&query);
        if let Some((_, vector)) = known.filter(|(at, _)| at.elapsed() < KEPT) {
            return Ok(QueryVector { space, vector });
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
            .insert(query, (Instant::now(), vector.clone()));
        Ok(QueryVector { space, vector })
    }
}
