//! What people and apps think of chunks: weights and votes, which rank, and scores, which are shown.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, Path, PathId, Query, Text};
use super::super::{ErrorBody, HttpError, SharedState};
use super::KnowledgeCaller;
use ambit_knowledge::{ChunkHit, ChunkVote, DocumentChunk, ScoreChange, WeightChange};
use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(set_weights))
        .routes(routes!(set_scores))
        .routes(routes!(show_chunk))
        .routes(routes!(list_votes, vote, remove_votes))
        .routes(routes!(count_hit))
}

/// A chunk of a document.
#[derive(Deserialize, IntoParams)]
struct ChunkPath {
    /// The document.
    document_id: Id,
    /// The chunk.
    segment_id: Id,
}

/// Weights that chunks are given.
#[derive(Deserialize, ToSchema)]
struct WeightsBody {
    /// `{id, weight}` each; weights are 0 to 10, and 0 hides.
    #[schema(value_type = Vec<Object>)]
    weights: Vec<WeightChange>,
}

impl BodyFields for WeightsBody {}

/// Scores that chunks are given.
#[derive(Deserialize, ToSchema)]
struct ScoresBody {
    /// `{id, score, dimensions}` each.
    #[schema(value_type = Vec<Object>)]
    scores: Vec<ScoreChange>,
}

impl BodyFields for ScoresBody {}

/// Votes about a chunk.
#[derive(Deserialize, ToSchema)]
struct VotesBody {
    /// `{vote: "positive" or "negative", hit_id, source, scenario, query, candidate, context}` each; the last one counts.
    #[schema(value_type = Vec<Object>)]
    segments: Vec<ChunkVote>,
}

impl BodyFields for VotesBody {}

/// The votes to be removed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VotesToRemove {
    /// Their ids, with commas between them.
    vote_ids: Text,
}

/// How many were changed.
#[derive(Serialize, ToSchema)]
struct UpdatedCount {
    /// How many.
    updated_count: u64,
}

/// The votes about a chunk.
#[derive(Serialize, ToSchema)]
struct VoteList {
    /// The votes.
    votes: Vec<ChunkVote>,
    /// Where more follow; all come at once.
    next_cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
    /// How many there are.
    total: usize,
}

/// Gives chunks of a document their weights.
#[utoipa::path(put, path = "/kb/documents/{document_id}/segments/weights", tag = "knowledge", params(("document_id" = Id, Path)), request_body = WeightsBody,
    responses((status = 200, description = "How many were changed", body = UpdatedCount), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn set_weights(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<WeightsBody>,
) -> Result<Json<UpdatedCount>, HttpError> {
    let updated_count = caller
        .base
        .set_weights(&caller.reach, &id.0, &value.weights)
        .await?;
    Ok(Json(UpdatedCount { updated_count }))
}

/// Gives chunks of a document their scores, which are shown and rank nothing.
#[utoipa::path(put, path = "/kb/documents/{document_id}/segments/scores", tag = "knowledge", params(("document_id" = Id, Path)), request_body = ScoresBody,
    responses((status = 200, description = "How many were changed", body = UpdatedCount), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn set_scores(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<ScoresBody>,
) -> Result<Json<UpdatedCount>, HttpError> {
    let updated_count = caller
        .base
        .set_scores(&caller.reach, &id.0, &value.scores)
        .await?;
    Ok(Json(UpdatedCount { updated_count }))
}

/// A chunk.
#[utoipa::path(get, path = "/kb/documents/{document_id}/segments/{segment_id}", tag = "knowledge", params(ChunkPath),
    responses((status = 200, description = "The chunk", body = DocumentChunk), (status = 404, body = ErrorBody)))]
async fn show_chunk(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    _: NoQuery,
) -> Result<Json<DocumentChunk>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    Ok(Json(
        caller
            .base
            .document_chunk(&caller.reach, document, chunk)
            .await?,
    ))
}

/// The votes about a chunk.
#[utoipa::path(get, path = "/kb/documents/{document_id}/segments/{segment_id}/votes", tag = "knowledge", params(ChunkPath),
    responses((status = 200, description = "The votes", body = VoteList), (status = 404, body = ErrorBody)))]
async fn list_votes(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    _: NoQuery,
) -> Result<Json<VoteList>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let votes = caller.base.votes(&caller.reach, document, chunk).await?;
    Ok(Json(VoteList {
        next_cursor: None,
        has_more: false,
        total: votes.len(),
        votes,
    }))
}

/// Votes about a chunk. A user has one vote; a new one takes its place.
#[utoipa::path(post, path = "/kb/documents/{document_id}/segments/{segment_id}/votes", tag = "knowledge", params(ChunkPath), request_body = VotesBody,
    responses((status = 200, description = "The votes about the chunk that the caller may see", body = VoteList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn vote(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<VotesBody>,
) -> Result<Json<VoteList>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    for mut vote in value.segments {
        vote.id.clone_from(chunk);
        caller.base.vote(&caller.reach, document, &vote).await?;
    }
    let votes = caller.base.votes(&caller.reach, document, chunk).await?;
    Ok(Json(VoteList {
        next_cursor: None,
        has_more: false,
        total: votes.len(),
        votes,
    }))
}

/// Removes votes.
#[utoipa::path(delete, path = "/kb/documents/{document_id}/segments/{segment_id}/votes", tag = "knowledge", params(ChunkPath, VotesToRemove),
    responses((status = 200, description = "How many were removed", body = UpdatedCount), (status = 404, body = ErrorBody)))]
async fn remove_votes(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    Query(query): Query<VotesToRemove>,
) -> Result<Json<UpdatedCount>, HttpError> {
    let ids: Vec<String> = query
        .vote_ids
        .0
        .split(',')
        .map(|id| id.trim().to_owned())
        .collect();
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let updated_count = caller
        .base
        .remove_votes(&caller.reach, document, chunk, &ids)
        .await?;
    Ok(Json(UpdatedCount { updated_count }))
}

/// Counts that a chunk was used.
#[utoipa::path(post, path = "/kb/documents/{document_id}/segments/{segment_id}/hits", tag = "knowledge", params(ChunkPath),
    responses((status = 200, description = "It was counted", body = UpdatedCount), (status = 404, body = ErrorBody)))]
async fn count_hit(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    _: NoQuery,
) -> Result<Json<UpdatedCount>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let hits = [ChunkHit::default()];
    let added = caller.base.add_hits(&caller.reach, document, chunk, &hits);
    let updated_count = added.await?.len() as u64;
    Ok(Json(UpdatedCount { updated_count }))
}
