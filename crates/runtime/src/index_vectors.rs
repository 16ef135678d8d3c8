//! Vectors beside the words of conversations and memories. They are made behind the write, by one node for all, and a search
//! compares those that are there with the vector of what it looks for.

mod due_vectors;
mod index_job;
mod query_vector;
mod upkeep_lease;

pub(crate) use due_vectors::{AddedVectors, ChunkText, DueTexts, IndexVectors, VectorOutcome};
pub(crate) use index_job::IndexJob;
pub use index_job::{VectorBooking, VectorPayer};
pub(crate) use query_vector::SearchedVectors;
pub use upkeep_lease::UpkeepTask;
pub(crate) use upkeep_lease::work_under;

use crate::error::{Error, ErrorCode, Result};
use crate::log_words::EchoFilter;
use crate::search::UsageBooking;
use ambit_knowledge::{
    BATCH_TEXTS, EmbeddedBatch, Embedder, EmbeddingPayer, EmbeddingRequest, KnowledgeBase,
    QueryVectors,
};
use ambit_search::fusion::RankRequest;
use serde_json::Value;
use std::sync::Arc;

/// Vectors less similar than this find nothing, as in collections where nobody says otherwise.
const THRESHOLD: f64 = 0.7;
/// So many texts are embedded together.
pub(crate) const TEXTS: usize = BATCH_TEXTS;
/// And their bytes: a token has rarely less than four.
pub(crate) const TEXT_BYTES: usize = 128_000;

/// Who makes the vectors of an index, and those of the queries that meet them.
#[derive(Clone)]
pub struct IndexEmbedding {
    /// The connector's id.
    pub connector: String,
    /// What asks it.
    pub embedder: Arc<dyn Embedder>,
    /// Vectors of queries that were asked before.
    pub queries: Arc<QueryVectors>,
    /// Counts what was used to whoever pays.
    pub book: UsageBooking,
}

impl IndexEmbedding {
    /// By a connector of the app, as the collections do it; `None` where there is none, or nobody who asks it.
    pub fn of(base: &KnowledgeBase, connector: Option<&str>, book: UsageBooking) -> Option<Self> {
        let connector = connector.filter(|connector| !connector.is_empty())?;
        Some(Self {
            connector: connector.to_owned(),
            embedder: base.settings().embedder.clone()?,
            queries: base.query_vectors(),
            book,
        })
    }

    /// Makes vectors of texts.
    async fn embed(&self, texts: Vec<String>) -> Result<EmbeddedBatch> {
        let request = EmbeddingRequest {
            connector: self.connector.clone(),
            dimensions: None,
            texts,
            payer: EmbeddingPayer::Caller,
        };
        let made = EmbeddedBatch::of(self.embedder.as_ref(), &request).await;
        made.map_err(|failure| {
            // A provider may repeat the texts, and what has failed goes into the log.
            let failure = EchoFilter::of(&Value::from(request.texts)).apply(&failure.to_string());
            let connector = &self.connector;
            let message = format!("embedding connector \"{connector}\": {failure}");
            Error::new(ErrorCode::Unavailable, message)
        })
    }
}

/// Ranks all that words find, and the nearest vectors: four for each result that is wanted, and at least 100.
pub(crate) fn hybrid_ranking(all: usize, wanted: usize) -> RankRequest {
    RankRequest {
        limit: all,
        threshold: THRESHOLD,
        nearest: Some(wanted.saturating_mul(4).max(100)),
    }
}
