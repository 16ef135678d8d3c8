//! Collections are indexed anew.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, PathId, Text};
use super::super::{ErrorBody, HttpError, SharedState};
use super::KnowledgeCaller;
use super::collections::language;
use ambit_knowledge::{ChunkLengths, EmbeddingSettings, Job, ReindexRequest};
use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new().routes(routes!(reindex_collection))
}

/// What a collection is indexed with from now on; what is left out stays.
#[derive(Deserialize, ToSchema)]
struct ReindexBody {
    /// How long its chunks are, in tokens: `size` and `overlap`.
    #[schema(value_type = Option<Object>)]
    chunk: Option<ChunkLengths>,
    /// The language of its documents.
    language: Option<Text>,
    /// The connector that makes its vectors: its id, or `{connector, dimensions, query_prefix, document_prefix}`.
    embedding: Option<Value>,
}

impl BodyFields for ReindexBody {}

/// Makes the index of a collection anew from the texts that are kept. Until it is whole the old one is searched.
#[utoipa::path(post, path = "/kb/collections/{collection_id}/reindex", tag = "knowledge", params(("collection_id" = Id, Path)), request_body = ReindexBody,
    responses((status = 202, description = "The job that makes it", body = Job), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, description = "Another one is under way", body = ErrorBody)))]
async fn reindex_collection(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<ReindexBody>,
) -> Result<(StatusCode, Json<Job>), HttpError> {
    let embedding = value.embedding.as_ref().filter(|given| !given.is_null());
    let embedding = embedding.map(EmbeddingSettings::read).transpose();
    let request = ReindexRequest {
        chunk: value.chunk,
        language: language(value.language.as_ref())?,
        embedding: embedding?,
    };
    let job = caller.base.reindex(&caller.reach, &id.0, &request).await?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}
