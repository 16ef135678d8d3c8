//! The vectors of queries, kept for ten minutes.

use super::lookup::AccessKind;
use super::{KnowledgeBase, some_at_once};
use crate::embedder::{Embedder, EmbeddingPayer, EmbeddingRequest};
use crate::index_record::IndexRecord;
use crate::query::{EmbeddingTokens, KnowledgeQuery};
use crate::reach::KnowledgeReach;
use ambit_search::vectors::{EmbeddingSpace, QueryVector};
use futures::future::join_all;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the vector of a query is kept.
const KEPT: Duration = Duration::from_secs(600);
/// How long a search waits for one.
const WAIT: Duration = Duration::from_secs(2);
/// So many are kept.
const QUERIES: usize = 1_000;

/// Vectors of queries that were asked before.
pub struct QueryVectors(Cache<TenantQuery, (Instant, Vec<f32>)>);

/// A query of somebody of a tenant: no other learns that it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TenantQuery {
    /// The tenant.
    pub tenant: String,
    /// What is asked.
    pub id: QueryId,
}

/// A query as it was embedded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryId {
    /// The space of the vectors that it is compared with.
    pub space: EmbeddingSpace,
    /// The query, prefixes included.
    pub text: String,
}

/// The vector of a query, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedQuery {
    /// The vector, or why there is none.
    pub vector: Result<QueryVector, UnknownVector>,
    /// Nothing where nobody was asked, or nobody has answered.
    pub used: Option<EmbeddingTokens>,
}

/// Why a query has no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownVector {
    /// Nobody has made it in time.
    Unavailable,
    /// It is of another model or length than those that it is to be compared with.
    OtherSpace,
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

impl QueryVectors {
    /// The vector of a query. It is asked for if nobody of the tenant has asked for it in the last ten minutes.
    pub async fn vector(
        &self,
        embedder: &dyn Embedder,
        query: TenantQuery,
        dimensions: Option<u32>,
    ) -> EmbeddedQuery {
        let QueryId { space, text } = query.id.clone();
        let known = self.0.get(&query);
        if let Some((_, vector)) = known.filter(|(at, _)| at.elapsed() < KEPT) {
            let vector = Ok(QueryVector { space, vector });
            return EmbeddedQuery { vector, used: None };
        }
        let request = EmbeddingRequest {
            connector: space.connector.clone(),
            dimensions,
            texts: vec![text],
            payer: EmbeddingPayer::Caller,
        };
        let answer = tokio::time::timeout(WAIT, embedder.embed(&request)).await;
        let Ok(Ok(answer)) = answer else {
            let vector = Err(UnknownVector::Unavailable);
            return EmbeddedQuery { vector, used: None };
        };
        let used = Some(EmbeddingTokens {
            connector: space.connector.clone(),
            model: answer.model.clone(),
            tokens: answer.tokens,
        });
        let vector = answer.vectors.into_iter().next().unwrap_or_default();
        if answer.model != space.model || space.check(&vector).is_err() {
            let vector = Err(UnknownVector::OtherSpace);
            return EmbeddedQuery { vector, used };
        }
        self.0.insert(query, (Instant::now(), vector.clone()));
        let vector = Ok(QueryVector { space, vector });
        EmbeddedQuery { vector, used }
    }
}

impl KnowledgeBase {
    /// The vectors of queries, for whoever else searches by them.
    pub fn query_vectors(&self) -> Arc<QueryVectors> {
        self.shared.query_vectors.clone()
    }

    /// Asks for the vectors of a query, all at once: an embedder that does not answer delays a search by its own wait alone.
    pub(super) async fn search_vectors(
        &self,
        reach: &dyn KnowledgeReach,
        query: &KnowledgeQuery,
    ) -> SearchVectors {
        let mut asked = HashMap::new();
        let ids = query.collections.iter();
        let found = ids.map(|id| self.find_collection(reach, id, AccessKind::Read));
        // What cannot be found is told by the search itself.
        let found = some_at_once(found.collect::<Vec<_>>()).await;
        for found in found.into_iter().flatten() {
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
        let Some(embedder) = &self.settings().embedder else {
            return Err(words_only(&settings.connector, "is unavailable"));
        };
        let queries = &self.shared.query_vectors;
        let dimensions = settings.dimensions;
        let found = queries.vector(embedder.as_ref(), query, dimensions).await;
        used.extend(found.used);
        found.vector.map_err(|why| match why {
            UnknownVector::Unavailable => words_only(&settings.connector, "is unavailable"),
            UnknownVector::OtherSpace => {
                let why = "answers otherwise than it did for the documents, reindex";
                words_only(&settings.connector, why)
            }
        })
    }
}

fn words_only(connector: &str, why: &str) -> String {
    format!("words only: embedding connector \"{connector}\" {why}")
}
