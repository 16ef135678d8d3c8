//! What people and apps think of chunks: weights and votes, which rank, and scores, which are shown.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, Path, PathId, Query, Text};
use super::super::paging::{self, PageSize};
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::KnowledgeCaller;
use ambit_knowledge::{ChunkVote, DocumentChunk, ScoreChange, WeightChange};
use ambit_runtime::{Error, Result};
use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// At most so many votes, or uses, are told at once.
const MOST: usize = 100;

/// The routes.
pub fn routes() -> Routes {
    routes![
        set_weights,
        set_scores,
        show_chunk,
        list_votes,
        vote,
        remove_votes
    ]
}

/// A chunk of a document.
#[derive(Deserialize, IntoParams)]
pub(super) struct ChunkPath {
    /// The document.
    pub document_id: Id,
    /// The chunk.
    pub segment_id: Id,
}

/// Weights that chunks are given.
#[derive(Deserialize, ToSchema)]
struct WeightsBody {
    /// `{id, weight}` each; weights are 0 to 10, and 0 hides.
    weights: Vec<WeightChange>,
}

impl BodyFields for WeightsBody {}

/// Scores that chunks are given.
#[derive(Deserialize, ToSchema)]
struct ScoresBody {
    /// `{id, score, dimensions}` each.
    scores: Vec<ScoreChange>,
}

impl BodyFields for ScoresBody {}

/// Votes about a chunk.
#[derive(Deserialize, ToSchema)]
struct VotesBody {
    /// `{vote: "positive" or "negative", hit_id, source, scenario, query, candidate, context}` each; the last one counts.
    segments: Vec<ChunkVote>,
}

impl BodyFields for VotesBody {
    fn check(&self) -> Result<()> {
        check_number(&self.segments)
    }
}

/// Refuses more than are told at once.
pub(super) fn check_number<T>(segments: &[T]) -> Result<()> {
    if segments.len() <= MOST {
        return Ok(());
    }
    let rule = format!("segments can be at most {MOST} at once");
    Err(Error::invalid("segments", rule))
}

/// The votes to be removed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VotesToRemove {
    /// Their ids, with commas between them.
    vote_ids: Text,
}

/// Which votes or uses.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CursorQuery {
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
    /// `next_cursor` of the answer before.
    cursor: Option<Text>,
}

/// How many were changed.
#[derive(Serialize, ToSchema)]
pub(super) struct UpdatedCount {
    /// How many.
    pub updated_count: u64,
}

/// The votes about a chunk.
#[derive(Serialize, ToSchema)]
struct VoteList {
    /// The votes.
    votes: Vec<ChunkVote>,
    /// Where they have ended, if more follow.
    next_cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
    /// How many there are.
    total: usize,
}

/// A part of a list that goes on behind an id.
pub(super) struct CursorPage<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
    pub has_more: bool,
    pub total: usize,
}

impl<T> CursorPage<T> {
    /// What comes next of all items, which are sorted by their ids.
    pub fn of(mut all: Vec<T>, query: &CursorQuery, id: impl Fn(&T) -> &String) -> Self {
        let total = all.len();
        if let Some(Text(cursor)) = &query.cursor {
            all.retain(|item| id(item) > cursor);
        }
        let limit = paging::limit(query.limit);
        let has_more = all.len() > limit;
        all.truncate(limit);
        let last = all.last().filter(|_| has_more);
        Self {
            next_cursor: last.map(|last| id(last).clone()),
            has_more,
            total,
            items: all,
        }
    }

    /// All of a list.
    pub fn whole(items: Vec<T>) -> Self {
        Self {
            next_cursor: None,
            has_more: false,
            total: items.len(),
            items,
        }
    }
}

impl VoteList {
    fn of(page: CursorPage<ChunkVote>) -> Json<Self> {
        Json(Self {
            votes: page.items,
            next_cursor: page.next_cursor,
            has_more: page.has_more,
            total: page.total,
        })
    }
}

/// Ids with commas between them.
pub(super) fn separate_ids(text: &Text) -> Vec<String> {
    let ids = text.0.split(',');
    ids.map(|id| id.trim().to_owned()).collect()
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

/// The caller's vote about a chunk; for whoever may change its collection everybody's, the oldest first.
#[utoipa::path(get, path = "/kb/documents/{document_id}/segments/{segment_id}/votes", tag = "knowledge", params(ChunkPath, CursorQuery),
    responses((status = 200, description = "Some votes", body = VoteList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_votes(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    Query(query): Query<CursorQuery>,
) -> Result<Json<VoteList>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let votes = caller.base.votes(&caller.reach, document, chunk).await?;
    let page = CursorPage::of(votes, &query, |vote| &vote.vote_id);
    Ok(VoteList::of(page))
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
    let first = CursorQuery::default();
    let page = CursorPage::of(votes, &first, |vote| &vote.vote_id);
    Ok(VoteList::of(page))
}

/// Removes votes.
#[utoipa::path(delete, path = "/kb/documents/{document_id}/segments/{segment_id}/votes", tag = "knowledge", params(ChunkPath, VotesToRemove),
    responses((status = 200, description = "How many were removed", body = UpdatedCount), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn remove_votes(
    caller: KnowledgeCaller,
    Path(path): Path<ChunkPath>,
    Query(query): Query<VotesToRemove>,
) -> Result<Json<UpdatedCount>, HttpError> {
    let (document, chunk) = (&path.document_id.0, &path.segment_id.0);
    let ids = separate_ids(&query.vote_ids);
    let removed = caller
        .base
        .remove_votes(&caller.reach, document, chunk, &ids);
    let updated_count = removed.await?;
    Ok(Json(UpdatedCount { updated_count }))
}
