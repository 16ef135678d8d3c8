//! Collections: made, shown, listed, changed and removed.

use super::KnowledgeCall;
use crate::document_jobs::finished_in_time;
use crate::error::{Error, Result};
use crate::model::query::RowPage;
use ambit_knowledge::{
    ChunkLengths, CollectionFilter, CollectionShare, CollectionStatus, CollectionUpdate,
    EmbeddingSettings, KeptContent, KnowledgeError, NewCollection, sort_collections,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A page has at most so many collections.
const LARGEST_PAGE: u64 = 100;

/// A collection to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectionFields {
    /// Yao calls it `collection_id`.
    #[serde(alias = "collection_id")]
    id: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    public: bool,
    #[serde(default)]
    share: CollectionShare,
    language: Option<String>,
    chunk: Option<ChunkLengths>,
    embedding: Option<Value>,
    #[serde(default)]
    keep: KeptContent,
    metadata: Option<Map<String, Value>>,
}

/// Which collections, and which page of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectionListFields {
    keywords: Option<String>,
    status: Option<CollectionStatus>,
    sort: Option<String>,
    page: Option<u64>,
    pagesize: Option<u64>,
}

/// `(fields)` → `{collection_id, message}`
pub async fn create(call: &KnowledgeCall<'_>) -> Result<Value> {
    let fields: CollectionFields = call.fields(call.object(0)?)?;
    let language = fields.language.map(|language| {
        let parsed = language.parse();
        parsed.map_err(|error| Error::invalid("language", format!("language: {error}")))
    });
    let embedding = fields.embedding.as_ref().map(EmbeddingSettings::read);
    let new = NewCollection {
        id: fields.id,
        name: fields.name.unwrap_or_default(),
        description: fields.description.unwrap_or_default(),
        public: fields.public,
        share: fields.share,
        language: language.transpose()?.unwrap_or_default(),
        chunk: fields.chunk.unwrap_or_default(),
        embedding: embedding.transpose()?,
        keep: fields.keep,
        metadata: fields.metadata.unwrap_or_default(),
    };
    let made = call.base.create_collection(&call.reach, new).await?;
    Ok(json!({"collection_id": made.collection_id, "message": "the collection was made"}))
}

/// `(collection_id)` → nothing once nothing of it is left, after a minute the job that erases it
pub async fn remove(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    let job = call.base.remove_collection(&call.reach, id).await?;
    match finished_in_time(call.base, &call.reach, &job).await? {
        Some(_) => Ok(Value::Null),
        None => Ok(json!(call.base.job(&call.reach, &job).await?)),
    }
}

/// `(collection_id)` → the collection
pub async fn get(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    Ok(json!(call.base.collection(&call.reach, id).await?))
}

/// `(collection_id)` → `{collection_id, exists}`
pub async fn exists(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    let exists = match call.base.collection(&call.reach, id).await {
        Ok(_) => true,
        Err(KnowledgeError::NotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(json!({"collection_id": id, "exists": exists}))
}

/// `({keywords?, status?, sort?, page?, pagesize?}?)` → a page
pub async fn list(call: &KnowledgeCall<'_>) -> Result<Value> {
    let fields: CollectionListFields = call.fields(call.object(0)?)?;
    let pagesize = fields.pagesize.unwrap_or(1);
    if !(1..=LARGEST_PAGE).contains(&pagesize) || fields.page == Some(0) {
        let rule = format!("must be 1 to {LARGEST_PAGE}, and page 1 or more");
        return Err(call.wrong("pagesize", &rule));
    }
    let filter = CollectionFilter {
        keywords: fields.keywords,
        status: fields.status,
    };
    let mut all = call.base.collections(&call.reach, &filter).await?;
    sort_collections(&mut all, fields.sort.as_deref().unwrap_or("id"))?;
    let page = RowPage::new(fields.page, fields.pagesize);
    let window = page.window();
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let shown = all.iter().skip(place(window.offset));
    let shown = shown.take(place(window.limit));
    let rows = shown.map(|collection| json!(collection)).collect();
    Ok(page.shown(rows, all.len() as u64))
}

/// `(collection_id, metadata)` → `{collection_id, message}`
pub async fn update_metadata(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    if call.argument(1).is_none() {
        return Err(call.wrong("metadata", "must be an object"));
    }
    let update = CollectionUpdate {
        metadata: Some(call.object(1)?),
        ..CollectionUpdate::default()
    };
    let base = call.base;
    let changed = base.update_collection(&call.reach, id, &update).await?;
    Ok(json!({"collection_id": changed.collection_id, "message": "the metadata was changed"}))
}
