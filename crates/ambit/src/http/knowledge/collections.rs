//! Collections: made, shown, changed and removed.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, PagedQuery, PathId, Text};
use super::super::paging::{PageParameters, PageResponse};
use super::super::{ErrorBody, HttpError, SharedState};
use super::{KnowledgeCaller, window};
use ambit_knowledge::{
    ChunkLengths, Collection, CollectionFilter, CollectionShare, CollectionStatus,
    CollectionUpdate, EmbeddingSettings, KeptContent, NewCollection, sort_collections,
};
use ambit_runtime::{Error, Result};
use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(list_collections, create_collection))
        .routes(routes!(
            show_collection,
            change_collection,
            remove_collection
        ))
        .routes(routes!(has_collection))
        .routes(routes!(change_metadata))
}

/// Which collections.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct CollectionQuery {
    /// Those whose id, name and description have all of these words among them, whatever their case.
    keywords: Option<Text>,
    /// Those of this status, `ready` or `indexing`.
    #[param(value_type = Option<String>)]
    status: Option<CollectionStatus>,
    /// What they are sorted by: `id`, `name`, `created_at` or `updated_at`; with `-` before it the other way round.
    sort: Option<Text>,
}

/// A collection to be made.
#[derive(Deserialize, ToSchema)]
struct CollectionBody {
    /// Its id: letters, digits, dots, underscores and hyphens.
    id: Id,
    /// What it is called; its id where nobody says.
    name: Option<Text>,
    /// What it holds.
    description: Option<Text>,
    /// Everybody of the tenant may use it.
    #[serde(default)]
    public: bool,
    /// `team`: the creator's team may use it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    share: CollectionShare,
    /// The language of its documents, `auto` where nobody says.
    language: Option<Text>,
    /// How long its chunks are, in tokens: `size` and `overlap`.
    #[schema(value_type = Option<Object>)]
    chunk: Option<ChunkLengths>,
    /// The connector that makes its vectors: its id, or `{connector, dimensions, query_prefix, document_prefix}`.
    embedding: Option<Value>,
    /// `file`: what is uploaded is stored too, beside its text.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    keep: KeptContent,
    /// Whatever the owner wants to know of it.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl BodyFields for CollectionBody {}

/// Changes of a collection; what is left out stays.
#[derive(Deserialize, ToSchema)]
struct CollectionChanges {
    /// What it is called.
    name: Option<Text>,
    /// What it holds.
    description: Option<Text>,
    /// Everybody of the tenant may use it.
    public: Option<bool>,
    /// `team` or `private`.
    #[schema(value_type = Option<String>)]
    share: Option<CollectionShare>,
    /// In the place of what there is.
    metadata: Option<Map<String, Value>>,
}

impl BodyFields for CollectionChanges {}

/// The metadata of a collection.
#[derive(Deserialize, ToSchema)]
struct MetadataBody {
    /// In the place of what there is.
    metadata: Map<String, Value>,
}

impl BodyFields for MetadataBody {}

/// A collection that was made or changed.
#[derive(Serialize, ToSchema)]
struct CollectionAnswer {
    /// Its id.
    collection_id: String,
    /// What was done.
    message: &'static str,
}

/// Whether there is a collection.
#[derive(Serialize, ToSchema)]
struct CollectionExists {
    /// The id that was asked for.
    collection_id: String,
    /// Whether the caller has one of this id.
    exists: bool,
}

pub(super) fn language(given: Option<&Text>) -> Result<Option<ambit_search::terms::Language>> {
    let parse = |text: &Text| {
        text.0
            .parse()
            .map_err(|error| Error::invalid("language", format!("language: {error}")))
    };
    given.map(parse).transpose()
}

/// The collections that the caller may use.
#[utoipa::path(get, path = "/kb/collections", tag = "knowledge", params(CollectionQuery, PageParameters),
    responses((status = 200, description = "A page of collections", body = PageResponse<Collection>), (status = 400, body = ErrorBody)))]
async fn list_collections(
    caller: KnowledgeCaller,
    listed: PagedQuery<CollectionQuery>,
) -> Result<Json<PageResponse<Collection>>, HttpError> {
    let PagedQuery { query, paging } = listed;
    let filter = CollectionFilter {
        keywords: query.keywords.map(|words| words.0),
        status: query.status,
    };
    let mut all = caller.base.collections(&caller.reach, &filter).await?;
    let by = query.sort.as_ref().map_or("id", |by| by.0.as_str());
    sort_collections(&mut all, by)?;
    Ok(Json(paging.listing(window(all, paging.window()))))
}

/// Makes a collection, which belongs to the caller.
#[utoipa::path(post, path = "/kb/collections", tag = "knowledge", request_body = CollectionBody,
    responses((status = 201, description = "It is there", body = CollectionAnswer), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn create_collection(
    caller: KnowledgeCaller,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<CollectionBody>,
) -> Result<(StatusCode, Json<CollectionAnswer>), HttpError> {
    let text = |text: Option<Text>| text.map(|text| text.0).unwrap_or_default();
    let embedding = value.embedding.as_ref().filter(|given| !given.is_null());
    let embedding = embedding.map(EmbeddingSettings::read);
    let new = NewCollection {
        language: language(value.language.as_ref())?.unwrap_or_default(),
        embedding: embedding.transpose()?,
        id: value.id.0,
        name: text(value.name),
        description: text(value.description),
        public: value.public,
        share: value.share,
        chunk: value.chunk.unwrap_or_default(),
        keep: value.keep,
        metadata: value.metadata,
    };
    let made = caller.base.create_collection(&caller.reach, new).await?;
    let answer = CollectionAnswer {
        collection_id: made.collection_id,
        message: "the collection was made",
    };
    Ok((StatusCode::CREATED, Json(answer)))
}

/// A collection.
#[utoipa::path(get, path = "/kb/collections/{collection_id}", tag = "knowledge", params(("collection_id" = Id, Path)),
    responses((status = 200, description = "The collection", body = Collection), (status = 404, body = ErrorBody)))]
async fn show_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<Collection>, HttpError> {
    Ok(Json(caller.base.collection(&caller.reach, &id.0).await?))
}

/// Changes what is said of a collection.
#[utoipa::path(put, path = "/kb/collections/{collection_id}", tag = "knowledge", params(("collection_id" = Id, Path)), request_body = CollectionChanges,
    responses((status = 200, description = "The collection", body = Collection), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn change_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<CollectionChanges>,
) -> Result<Json<Collection>, HttpError> {
    let update = CollectionUpdate {
        name: value.name.map(|text| text.0),
        description: value.description.map(|text| text.0),
        public: value.public,
        share: value.share,
        metadata: value.metadata,
    };
    let (base, reach) = (&caller.base, &caller.reach);
    Ok(Json(base.update_collection(reach, &id.0, &update).await?))
}

/// Removes a collection with all that is in it.
#[utoipa::path(delete, path = "/kb/collections/{collection_id}", tag = "knowledge", params(("collection_id" = Id, Path)),
    responses((status = 204, description = "Nothing of it is left"), (status = 202, description = "It is found no more; the job erases what is left", body = ambit_knowledge::Job), (status = 404, body = ErrorBody)))]
async fn remove_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Response, HttpError> {
    let job = caller.base.remove_collection(&caller.reach, &id.0).await?;
    Ok(caller.removed(&job).await?)
}

/// Whether the caller has a collection of this id.
#[utoipa::path(get, path = "/kb/collections/{collection_id}/exists", tag = "knowledge", params(("collection_id" = Id, Path)),
    responses((status = 200, description = "Whether it is there", body = CollectionExists)))]
async fn has_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<CollectionExists>, HttpError> {
    let exists = match caller.base.collection(&caller.reach, &id.0).await {
        Ok(_) => true,
        Err(ambit_knowledge::KnowledgeError::NotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    let collection_id = id.0;
    Ok(Json(CollectionExists {
        collection_id,
        exists,
    }))
}

/// Changes the metadata of a collection.
#[utoipa::path(put, path = "/kb/collections/{collection_id}/metadata", tag = "knowledge", params(("collection_id" = Id, Path)), request_body = MetadataBody,
    responses((status = 200, description = "It was changed", body = CollectionAnswer), (status = 404, body = ErrorBody)))]
async fn change_metadata(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<MetadataBody>,
) -> Result<Json<CollectionAnswer>, HttpError> {
    let update = CollectionUpdate {
        metadata: Some(value.metadata),
        ..CollectionUpdate::default()
    };
    let (base, reach) = (&caller.base, &caller.reach);
    let changed = base.update_collection(reach, &id.0, &update).await?;
    Ok(Json(CollectionAnswer {
        collection_id: changed.collection_id,
        message: "the metadata was changed",
    }))
}
