//! Collections are indexed anew.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, PathId};
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::KnowledgeCaller;
use ambit_knowledge::{Job, ReindexRequest};
use axum::Json;
use axum::http::StatusCode;

/// The routes.
pub fn routes() -> Routes {
    routes![reindex_collection]
}

impl BodyFields for ReindexRequest {
    const MAY_BE_ABSENT: bool = true;
}

/// Makes the index of a collection anew from the texts that are kept. Until it is whole the old one is searched.
#[utoipa::path(post, path = "/kb/collections/{collection_id}/reindex", tag = "knowledge", params(("collection_id" = Id, Path)), request_body = Option<ReindexRequest>,
    responses((status = 202, description = "The job that makes it", body = Job), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, description = "Another one is under way", body = ErrorBody), (status = 422, description = "The connector of its vectors is not there", body = ErrorBody)))]
async fn reindex_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<ReindexRequest>,
) -> Result<(StatusCode, Json<Job>), HttpError> {
    let job = caller.reindex(&id.0, &value).await?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}
