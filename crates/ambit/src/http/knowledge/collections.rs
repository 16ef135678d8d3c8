//! Collections: made, shown, changed and removed.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, PagedQuery, PathId, Text};
use super::super::paging::{PageParameters, PageResponse};
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::{KnowledgeCaller, window};
use ambit_knowledge::{
    Collection, CollectionFilter, CollectionStatus, CollectionUpdate, NewCollection,
    sort_collections,
};
use ambit_runtime::knowledge_client::{CollectionAnswer, CollectionExists};
use ambit_runtime::{Error, Result};
use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_collections,
        create_collection,
        show_collection,
        change_collection,
        remove_collection,
        has_collection,
        change_metadata
    ]
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

impl BodyFields for NewCollection {}

impl BodyFields for CollectionUpdate {
    fn check(&self) -> Result<()> {
        match self.name.as_deref() {
            Some("") => Err(Error::invalid(
                "name",
                "name is empty; leave it out instead",
            )),
            _ => Ok(()),
        }
    }
}

/// The metadata of a collection.
#[derive(Deserialize, ToSchema)]
struct MetadataBody {
    /// In the place of what there is.
    metadata: Map<String, Value>,
}

impl BodyFields for MetadataBody {}

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
#[utoipa::path(post, path = "/kb/collections", tag = "knowledge", request_body = NewCollection,
    responses((status = 201, description = "It is there", body = CollectionAnswer), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 422, description = "The connector of its vectors is not there", body = ErrorBody)))]
async fn create_collection(
    caller: KnowledgeCaller,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<NewCollection>,
) -> Result<(StatusCode, Json<CollectionAnswer>), HttpError> {
    let made = caller.create_collection(value).await?;
    Ok((StatusCode::CREATED, Json(made)))
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
#[utoipa::path(put, path = "/kb/collections/{collection_id}", tag = "knowledge", params(("collection_id" = Id, Path)), request_body = CollectionUpdate,
    responses((status = 200, description = "The collection", body = Collection), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn change_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<CollectionUpdate>,
) -> Result<Json<Collection>, HttpError> {
    let (base, reach) = (&caller.base, &caller.reach);
    Ok(Json(base.update_collection(reach, &id.0, &value).await?))
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
    Ok(Json(caller.has_collection(&id.0).await?))
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
    Ok(Json(caller.change_metadata(&id.0, value.metadata).await?))
}
