//! Collections as callers see and make them.

use crate::error::{KnowledgeError, Result};
use ambit_search::chunker::ChunkSettings;
use ambit_search::terms::Language;
use ambit_storage::clock::Millis;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A set of documents that are searched together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collection {
    /// `[A-Za-z0-9._-]{1,128}`.
    pub collection_id: String,
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub description: String,
    /// Everybody of the tenant may use it; where it is a file of the app, everybody.
    pub public: bool,
    /// Who else may use it.
    pub share: CollectionShare,
    /// Who made it.
    pub source: CollectionSource,
    /// The code of its language.
    pub language: String,
    /// How long its chunks are.
    pub chunk: ChunkLengths,
    /// Its vectors; none where words alone find.
    pub embedding: Option<CollectionEmbedding>,
    /// What is stored of an upload.
    pub keep: KeptContent,
    /// The number of its index: another one after each re-index.
    pub version: u32,
    /// A re-index under way.
    pub reindex: Option<ReindexProgress>,
    /// How many documents it has.
    pub documents: u64,
    /// How many chunks.
    pub chunks: u64,
    /// Bytes of text.
    pub bytes: u64,
    /// Documents that could not be read.
    pub failed: u64,
    /// What is going on.
    pub status: CollectionStatus,
    /// The owner's own.
    pub metadata: Map<String, Value>,
    /// The user who made it; nobody where it is a file of the app.
    pub created_by: Option<String>,
    /// Their team.
    pub team_id: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last changed, its documents apart.
    pub updated_at: Millis,
}

/// Who may use a collection beside its creator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CollectionShare {
    /// Nobody.
    #[default]
    Private,
    /// The creator's team.
    Team,
}

/// Where a collection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CollectionSource {
    /// A file of the app: it belongs to no tenant, and its documents are files too.
    File,
    /// A caller made it; it belongs to their tenant.
    Api,
}

/// What is stored of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeptContent {
    /// Its text.
    #[default]
    Text,
    /// The upload as it came, too.
    File,
}

/// What a collection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CollectionStatus {
    /// Nothing.
    Ready,
    /// Documents are waiting or under way.
    Indexing,
}

/// How long chunks are, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChunkLengths {
    /// At most.
    pub size: u64,
    /// At most so many are shared with the chunk before.
    pub overlap: u64,
}

/// What vectors can be compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CollectionEmbedding {
    /// The connector that makes them.
    pub connector: String,
    /// Its model, once it has answered.
    pub model: Option<String>,
    /// How many numbers a vector has, once it is known.
    pub dimension: Option<u32>,
}

/// How far a re-index is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReindexProgress {
    /// Its job.
    pub job_id: String,
    /// Documents that are in the new index.
    pub done: u64,
    /// Documents that go into it.
    pub total: u64,
}

/// Which connector makes the vectors of a collection, and from what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// The connector's id.
    pub connector: String,
    /// The length of vectors that it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
    /// What stands before each query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query_prefix: String,
    /// What stands before each chunk.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub document_prefix: String,
}

/// A collection that is to be made, or the definition of one by a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCollection {
    /// Its id: letters, digits, dots, underscores and hyphens.
    #[serde(alias = "collection_id")]
    pub id: String,
    /// What it is called; its id where nobody says.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// What it holds.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Everybody of the tenant may use it.
    #[serde(default, deserialize_with = "or_default")]
    pub public: bool,
    /// `team`: the creator's team may use it.
    #[serde(default, deserialize_with = "or_default")]
    pub share: CollectionShare,
    /// The language of its documents, `auto` where nobody says.
    #[serde(default, deserialize_with = "or_default")]
    #[schema(value_type = String)]
    pub language: Language,
    /// How long its chunks are.
    #[serde(default, deserialize_with = "or_default")]
    pub chunk: ChunkLengths,
    /// The connector that makes its vectors: its id, or an object.
    #[serde(default, deserialize_with = "given_embedding")]
    #[schema(value_type = Option<GivenEmbedding>)]
    pub embedding: Option<EmbeddingSettings>,
    /// `file`: what is uploaded is stored too, beside its text.
    #[serde(default, deserialize_with = "or_default")]
    pub keep: KeptContent,
    /// Whatever the owner wants to know of it.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Map<String, Value>,
}

/// Changes of a collection; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectionUpdate {
    /// What it is called.
    pub name: Option<String>,
    /// What it holds.
    pub description: Option<String>,
    /// Everybody of the tenant may use it.
    pub public: Option<bool>,
    /// `team` or `private`.
    pub share: Option<CollectionShare>,
    /// In the place of what there is.
    pub metadata: Option<Map<String, Value>>,
}

/// What a collection is indexed with from now on; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReindexRequest {
    /// How long its chunks are.
    pub chunk: Option<ChunkLengths>,
    /// The language of its documents.
    #[schema(value_type = Option<String>)]
    pub language: Option<Language>,
    /// The connector that makes its vectors: its id, or an object.
    #[serde(default, deserialize_with = "given_embedding")]
    #[schema(value_type = Option<GivenEmbedding>)]
    pub embedding: Option<EmbeddingSettings>,
}

/// What is said of vectors: their connector, or all of it.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
enum GivenEmbedding {
    Connector(String),
    Settings(EmbeddingSettings),
}

/// `null` says as little as nothing.
fn or_default<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(reader).map(Option::unwrap_or_default)
}

fn given_embedding<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<EmbeddingSettings>, D::Error> {
    let wrong = |_| {
        let rule =
            "must be a connector's id, or {connector, dimensions, query_prefix, document_prefix}";
        D::Error::custom(rule)
    };
    let given = Option::<GivenEmbedding>::deserialize(reader).map_err(wrong)?;
    Ok(given.map(|given| match given {
        GivenEmbedding::Settings(settings) => settings,
        GivenEmbedding::Connector(connector) => EmbeddingSettings {
            connector,
            ..EmbeddingSettings::default()
        },
    }))
}

impl Default for ChunkLengths {
    fn default() -> Self {
        let settings = ChunkSettings::default();
        Self {
            size: settings.size(),
            overlap: settings.overlap(),
        }
    }
}

impl ChunkLengths {
    /// The same, checked.
    pub fn settings(self) -> Result<ChunkSettings> {
        ChunkSettings::new(self.size, self.overlap)
            .map_err(|error| KnowledgeError::invalid("chunk", format!("is refused: {error}")))
    }
}

/// Sorts collections by `id`, `name`, `created_at` or `updated_at`; with `-` before it the other way round.
pub fn sort_collections(collections: &mut [Collection], by: &str) -> Result<()> {
    let (key, is_reversed) = match by.strip_prefix('-') {
        Some(key) => (key, true),
        None => (by, false),
    };
    match key {
        "id" => collections.sort_by(|one, other| one.collection_id.cmp(&other.collection_id)),
        "name" => collections.sort_by(|one, other| one.name.cmp(&other.name)),
        "created_at" => collections.sort_by_key(|collection| collection.created_at),
        "updated_at" => collections.sort_by_key(|collection| collection.updated_at),
        _ => {
            let rule = "must be id, name, created_at or updated_at, with - before it for the other way round";
            return Err(KnowledgeError::invalid("sort", rule));
        }
    }
    if is_reversed {
        collections.reverse();
    }
    Ok(())
}

/// Whether a text can be the id of a collection.
pub fn check_collection_id(id: &str) -> Result<()> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=128).contains(&id.len()) && id.bytes().all(is_allowed) {
        return Ok(());
    }
    let reason = "must be 1 to 128 letters, digits, dots, underscores and hyphens";
    Err(KnowledgeError::invalid("collection id", reason))
}
