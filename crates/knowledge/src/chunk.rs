//! Chunks of documents as callers see them, and what people say of them.

use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A stretch of a document's text, which is found as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentChunk {
    /// The same as long as the document has this text.
    pub id: String,
    /// Its document.
    pub document_id: String,
    /// Its collection.
    pub collection_id: String,
    /// Its place in the document, from 0.
    pub index: u64,
    /// Its text.
    pub text: String,
    /// The title of its document.
    pub title: String,
    /// The headings above it.
    pub heading: Vec<String>,
    /// The page on which it begins.
    pub page: Option<u32>,
    /// Its characters in the document's text.
    pub range: [u64; 2],
    /// How long it is.
    pub tokens: u64,
    /// SHA-256 of its text.
    pub hash: String,
    /// What is known of it: the document's metadata, and its section's.
    pub metadata: Map<String, Value>,
    /// What it counts for, 0 to 10.
    pub weight: f64,
    /// Kept and shown.
    pub score: Option<f64>,
    /// Kept and shown.
    pub score_dimensions: Map<String, Value>,
    /// How many voted for it.
    pub positive: u64,
    /// How many voted against it.
    pub negative: u64,
    /// How often it was used.
    pub hit: u64,
    /// The number of its index.
    pub version: u32,
    /// When it was indexed.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
}

/// What a person thinks of a chunk. A user has one of each chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkVote {
    /// The chunk.
    #[serde(default)]
    pub id: String,
    /// The vote.
    #[serde(default)]
    pub vote_id: String,
    /// For or against it.
    pub vote: VoteKind,
    /// The hit that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_id: Option<String>,
    /// How the chunk was found.
    #[serde(flatten)]
    pub found: FeedbackContext,
}

/// A use of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkHit {
    /// The chunk.
    #[serde(default)]
    pub id: String,
    /// The hit.
    #[serde(default)]
    pub hit_id: String,
    /// How many uses it stands for: one, or as often as searches of a person's turns have found the chunk.
    #[serde(default)]
    pub count: u32,
    /// How the chunk was found.
    #[serde(flatten)]
    pub found: FeedbackContext,
}

/// How a chunk was found about which somebody says something: kept and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackContext {
    /// What it was found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What else could have been found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    /// In what it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
}

/// For or against a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoteKind {
    /// For it.
    Positive,
    /// Against it.
    Negative,
}

/// A weight that is given to a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WeightChange {
    /// The chunk.
    pub id: String,
    /// 0 to 10; 0 hides it.
    pub weight: f64,
}

/// A score that is given to a chunk: kept and shown, it ranks nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreChange {
    /// The chunk.
    pub id: String,
    /// The score.
    pub score: f64,
    /// What it consists of.
    #[serde(default)]
    pub dimensions: Map<String, Value>,
}
