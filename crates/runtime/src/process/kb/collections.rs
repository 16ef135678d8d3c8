//! Collections: made, shown, listed, changed and removed.

use super::KnowledgeCall;
use crate::error::Result;
use crate::knowledge_client::KnowledgeClient;
use crate::model::query::RowPage;
use ambit_knowledge::{CollectionFilter, CollectionStatus, NewCollection, sort_collections};
use serde::Deserialize;
use serde_json::{Value, json};

/// A page has at most so many collections.
const LARGEST_PAGE: u64 = 100;

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
    let new: NewCollection = call.fields(call.object(0)?)?;
    Ok(json!(call.client.create_collection(new).await?))
}

/// `(collection_id)` → nothing once nothing of it is left, after a minute the job that erases it
pub async fn remove(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    let KnowledgeClient { base, reach, .. } = &call.client;
    let job = base.remove_collection(reach, id).await?;
    Ok(json!(call.client.unfinished_removal(&job).await?))
}

/// `(collection_id)` → the collection
pub async fn get(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    let KnowledgeClient { base, reach, .. } = &call.client;
    Ok(json!(base.collection(reach, id).await?))
}

/// `(collection_id)` → `{collection_id, exists}`
pub async fn exists(call: &KnowledgeCall<'_>) -> Result<Value> {
    let id = call.text(0, "collection_id")?;
    Ok(json!(call.client.has_collection(id).await?))
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
    let KnowledgeClient { base, reach, .. } = &call.client;
    let mut all = base.collections(reach, &filter).await?;
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
    let metadata = call.object(1)?;
    Ok(json!(call.client.change_metadata(id, metadata).await?))
}
