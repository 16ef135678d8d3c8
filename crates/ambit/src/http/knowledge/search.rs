//! Searching collections.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, Whole};
use super::super::routes::{Routes, routes};
use super::super::{ApiCaller, ErrorBody, HttpError};
use super::KnowledgeCaller;
use ambit_knowledge::{
    CollectionFilter, InvalidFilter, KnowledgeItem, KnowledgeQuery, MetadataFilter,
};
use ambit_runtime::{Error, Result};
use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;
use utoipa::ToSchema;

/// At most so many collections are named at once.
const COLLECTIONS: usize = 100;

/// The routes.
pub fn routes() -> Routes {
    routes![search_collections]
}

/// What is looked for, and where.
#[derive(Default, Deserialize, ToSchema)]
pub(in super::super) struct SearchBody {
    /// What is looked for.
    query: String,
    /// Ids of collections; all that the caller may use where nobody says.
    collections: Option<Vec<Id>>,
    /// In this document alone.
    document_id: Option<Id>,
    /// At most so many items, 10 where nobody says.
    limit: Option<Whole<1, 100>>,
    /// Texts whose meaning is farther from the query are found by their words alone; 0.7 where nobody says.
    threshold: Option<f64>,
    /// A filter on metadata.
    metadata: Option<Value>,
    /// Puts the items in order once more, by whom the app's `uses.rerank` names.
    rerank: Option<RerankBody>,
}

impl SearchBody {
    /// A search for this in these collections.
    pub fn of(query: String, collections: Option<Vec<Id>>, limit: Option<Whole<1, 100>>) -> Self {
        Self {
            query,
            collections,
            limit,
            ..Self::default()
        }
    }
}

/// Putting items in order once more.
#[derive(Deserialize, ToSchema)]
struct RerankBody {
    /// How many are left; as `search.rerank` of the app says where nobody says.
    top_n: Option<Whole<1, 100>>,
}

impl BodyFields for SearchBody {
    fn check(&self) -> Result<()> {
        if self.query.trim().is_empty() {
            return Err(Error::invalid("query", "query is required"));
        }
        let is_wrong = self.threshold.is_some_and(|it| !(0.0..=1.0).contains(&it));
        if is_wrong {
            return Err(Error::invalid("threshold", "threshold must be 0 to 1"));
        }
        Ok(())
    }
}

/// What was found.
#[derive(Serialize, ToSchema)]
pub(in super::super) struct SearchAnswer {
    /// `kb`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What was looked for.
    query: String,
    /// `user`.
    source: &'static str,
    /// The items, the best first.
    pub items: Vec<FoundItem>,
    /// How many they are.
    total: usize,
    /// How long it took.
    duration_ms: u64,
    /// Why nothing could be searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What did not fail and differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A chunk that was found.
#[derive(Serialize, ToSchema)]
pub(in super::super) struct FoundItem {
    /// `kb`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// `user`.
    source: &'static str,
    /// How much items that a person looked for count.
    weight: f64,
    /// The chunk.
    #[serde(flatten)]
    item: KnowledgeItem,
}

/// Finds what fits a query best, among what the caller may read.
#[utoipa::path(post, path = "/kb/search", tag = "knowledge", request_body = SearchBody,
    responses((status = 200, description = "What was found", body = SearchAnswer), (status = 400, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn search_collections(
    api_caller: ApiCaller,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<SearchBody>,
) -> Result<Json<SearchAnswer>, HttpError> {
    Ok(Json(search(&api_caller, value).await?))
}

/// What fits best of what the caller may read.
pub(in super::super) async fn search(
    api_caller: &ApiCaller,
    value: SearchBody,
) -> Result<SearchAnswer> {
    let began = Instant::now();
    let caller = KnowledgeCaller::of(api_caller)?;
    let mut query = KnowledgeQuery::new(value.query, &[]);
    query.leaves_out_gone = value.collections.is_none();
    query.collections = caller.searched(value.collections).await?;
    query.document_id = value.document_id.map(|id| id.0);
    let filter = value.metadata.as_ref().map(MetadataFilter::parse);
    let invalid = |fault: InvalidFilter| Error::invalid("metadata", format!("metadata: {fault}"));
    query.metadata = filter.transpose().map_err(invalid)?;
    query.threshold = value.threshold.unwrap_or(query.threshold);
    query.limit = value.limit.map_or(query.limit, |limit| {
        usize::try_from(limit.0).unwrap_or(query.limit)
    });
    let found = caller.base.search(&caller.reach, &query).await?;
    let items = match value.rerank {
        None => found.items,
        Some(rerank) => {
            let top_n = rerank.top_n.and_then(|top| usize::try_from(top.0).ok());
            let ApiCaller { server, who } = api_caller;
            let ranked = server.runtime.rerank(who, &query.query, found.items, top_n);
            ranked.await
        }
    };
    let items: Vec<FoundItem> = items.into_iter().map(FoundItem::of).collect();
    Ok(SearchAnswer {
        kind: "kb",
        query: query.query,
        source: "user",
        total: items.len(),
        items,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        error: found.error,
        notes: found.notes,
    })
}

impl KnowledgeCaller {
    /// The collections that are searched: those that are named, else all that the caller may use.
    async fn searched(&self, named: Option<Vec<Id>>) -> Result<Vec<String>> {
        let Some(ids) = named else {
            let every = CollectionFilter::default();
            let all = self.base.collections(&self.reach, &every).await?;
            let ids = all.into_iter().map(|collection| collection.collection_id);
            return Ok(ids.collect());
        };
        if ids.len() > COLLECTIONS {
            let rule = format!("at most {COLLECTIONS} collections are named at once");
            return Err(Error::invalid("collections", rule));
        }
        Ok(ids.into_iter().map(|id| id.0).collect())
    }
}

impl FoundItem {
    fn of(item: KnowledgeItem) -> Self {
        Self {
            kind: "kb",
            source: "user",
            weight: 1.0,
            item,
        }
    }
}
