//! What an index is made with.

use crate::collection::{ChunkLengths, EmbeddingSettings, ReindexRequest};
use crate::embedder::EmbeddingFailure;
use ambit_search::terms::{Analyzer, Language};
use ambit_search::vectors::EmbeddingSpace;
use serde::{Deserialize, Serialize};

/// What an index is made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub version: u32,
    pub language: String,
    pub chunk: ChunkLengths,
    pub embedding: Option<EmbeddingSettings>,
    /// The model that made its vectors, and their length, once there are any.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub dimension: Option<u32>,
}

impl IndexRecord {
    /// What its vectors are, once there are any.
    pub fn space(&self) -> Option<EmbeddingSpace> {
        Some(EmbeddingSpace {
            connector: self.embedding.as_ref()?.connector.clone(),
            model: self.model.clone()?,
            dimension: self.dimension?,
        })
    }

    pub fn analyzer(&self) -> Analyzer {
        Analyzer::new(self.language.parse::<Language>().unwrap_or_default())
    }

    /// An index like this one, but for what is asked for.
    pub fn changed(&self, request: &ReindexRequest) -> Self {
        let language = request.language.map(|language| language.code().to_owned());
        Self {
            version: self.version,
            language: language.unwrap_or_else(|| self.language.clone()),
            chunk: request.chunk.unwrap_or(self.chunk),
            embedding: request.embedding.clone().or(self.embedding.clone()),
            model: None,
            dimension: None,
        }
    }

    /// Whether both are made in the same way.
    pub fn is_made_like(&self, other: &Self) -> bool {
        self.language == other.language
            && self.chunk == other.chunk
            && self.embedding == other.embedding
    }

    /// Refuses vectors that cannot be compared with those that are there.
    pub fn check_space(
        &self,
        collection: &str,
        space: &EmbeddingSpace,
    ) -> std::result::Result<(), EmbeddingFailure> {
        let Some(own) = self.space().filter(|own| own != space) else {
            return Ok(());
        };
        let (found, wanted) = (space.dimension, own.dimension);
        Err(EmbeddingFailure::Permanent(if found == wanted {
            let (found, wanted) = (&space.model, &own.model);
            format!(
                "embedding is of model {found}, collection \"{collection}\" of {wanted}: reindex"
            )
        } else {
            format!(
                "embedding has {found} dimensions, collection \"{collection}\" {wanted}: reindex"
            )
        }))
    }
}

/// A re-index under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReindexRecord {
    pub job_id: String,
    /// The index that is made.
    pub index: IndexRecord,
    /// Whether each document that was there has its task.
    pub is_listed: bool,
}

/// What a document becomes once the index of this version is the one that is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReindexedDocument {
    pub version: u32,
    pub chunks: u64,
    pub warnings: Vec<String>,
}
