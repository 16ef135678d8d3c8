//! Uses of chunks, as apps tell of them and as turns have counted them.

use super::super::input::{BodyFields, JsonBody, NoQuery, Path, Query, Text};
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::KnowledgeCaller;
use super::ratings::{
    ChunkPath, CursorPage, CursorQuery, UpdatedCount, check_number, separate_ids,
};
use ambit_knowledge::ChunkHit;
use ambit_runtime::Result;
use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![list_hits, add_hits, remove_hits]
}

/// Uses of a chunk.
#[derive(Default, Deserialize, ToSchema)]
struct HitsBody {
    /// `{source, scenario, query, candidate, context}` each; without any of them one use is counted.
    #[serde(default)]
    segments: Vec<ChunkHit>,
}

impl BodyFields for HitsBody {
    const MAY_BE_ABSENT: bool = true;

    fn check(&self) -> Result<()> {
        check_number(&self.segments)
    }
}

/// The uses to be removed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct HitsToRemove {
    /// Their ids, with commas between them.
    hit_ids: Text,
}

/// Uses of a chunk.
#[derive(Serialize, ToSchema)]
struct HitList {
    /// The uses.
    hits: Vec<ChunkHit>,
    /// Where they have ended, if more follow.
    next_cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
    /// How many records of uses there are.
    total: usize,
}

impl HitList {
    fn of(page: CursorPage<ChunkHit>) -> Json<Self> {
        Json(Self {
            hits: page.items,
            next_cursor: page.next_cursor,
            has_more: page.has_more,
            total: page.total,
        })
    }
}

/// The uses of a chunk that the caller has told of, the oldest first; for whoever may change its collection everybody's.
#[utoipa::path(get, path = "/kb/documents/{document_id}/segments/{segment_id}/hits", tag = "knowledge", params(ChunkPath, CursorQuery),
    responses((status = 200, description = "Some uses", body = HitList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_hits(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    Query(query): Query<CursorQuery>,
) -> Result<Json<HitList>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let hits = caller.base.hits(&caller.reach, document, chunk).await?;
    Ok(HitList::of(CursorPage::of(hits, &query, |hit| &hit.hit_id)))
}

/// Keeps that a chunk was used. Uses rank nothing.
#[utoipa::path(post, path = "/kb/documents/{document_id}/segments/{segment_id}/hits", tag = "knowledge", params(ChunkPath), request_body = Option<HitsBody>,
    responses((status = 200, description = "The uses as they are kept", body = HitList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn add_hits(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<HitsBody>,
) -> Result<Json<HitList>, HttpError> {
    let mut hits = value.segments;
    if hits.is_empty() {
        hits.push(ChunkHit::default());
    }
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let added = caller.base.add_hits(&caller.reach, document, chunk, &hits);
    Ok(HitList::of(CursorPage::whole(added.await?)))
}

/// Removes uses of a chunk that the caller has told of; whoever may change its collection removes anybody's.
#[utoipa::path(delete, path = "/kb/documents/{document_id}/segments/{segment_id}/hits", tag = "knowledge", params(ChunkPath, HitsToRemove),
    responses((status = 200, description = "How many were removed", body = UpdatedCount), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn remove_hits(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    Query(query): Query<HitsToRemove>,
) -> Result<Json<UpdatedCount>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let ids = separate_ids(&query.hit_ids);
    let removed = caller
        .base
        .remove_hits(&caller.reach, document, chunk, &ids);
    let updated_count = removed.await?;
    Ok(Json(UpdatedCount { updated_count }))
}
