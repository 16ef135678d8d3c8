//! What a document consists of: its file, the text that was read of it, and the chunks by which it is found.

use super::super::input::{Id, NoQuery, PathId, Query, Text, Whole};
use super::super::paging::PageSize;
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::KnowledgeCaller;
use ambit_knowledge::{DocumentChunk, DocumentFile, KnowledgeError};
use ambit_runtime::Error;
use ambit_runtime::knowledge_client::DocumentText;
use axum::Json;
use axum::body::Body;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Chunks that come at once, where nobody says.
const CHUNKS: u64 = 20;

/// The routes.
pub fn routes() -> Routes {
    routes![show_file, show_text, list_chunks]
}

/// Which characters.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TextQuery {
    /// From this one on, the first where nobody says.
    #[param(inline)]
    from: Option<Whole<0, { u32::MAX as u64 }>>,
    /// Before this one, 100,000 later where nobody says.
    #[param(inline)]
    to: Option<Whole<0, { u32::MAX as u64 }>>,
}

/// Which chunks.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChunkQuery {
    /// How many; 20 where nobody says.
    limit: Option<PageSize>,
    /// Where the part before has ended.
    scroll_id: Option<Text>,
}

/// Some chunks of a document.
#[derive(Serialize, ToSchema)]
struct ChunkPage {
    /// The chunks, in the order of the text.
    segments: Vec<DocumentChunk>,
    /// Where they have ended, if more follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    scroll_id: Option<String>,
    /// Whether more follow.
    has_more: bool,
}

/// The file that a document was read from, as it came. Collections have it that are made with `keep: "file"`.
#[utoipa::path(get, path = "/kb/documents/{document_id}/file", tag = "knowledge", params(("document_id" = Id, Path)),
    responses((status = 200, description = "The file", body = String, content_type = "application/octet-stream"), (status = 404, body = ErrorBody)))]
async fn show_file(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Response, HttpError> {
    let file = caller.base.document_file(&caller.reach, &id.0).await?;
    // No browser shows what others have sent as a page of this site.
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (CONTENT_DISPOSITION, "attachment"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let length = [(CONTENT_LENGTH, file.bytes)];
    Ok((headers, length, body(file)).into_response())
}

/// A file as fast as the client takes it. One that is replaced meanwhile breaks off, so that it does not look whole.
fn body(file: DocumentFile) -> Body {
    Body::from_stream(stream::try_unfold(file, |mut file| async move {
        let part = file.next().await;
        let part = part.inspect_err(|error| {
            tracing::warn!(error.message = %error, "the file of a document broke off");
        });
        Ok::<_, KnowledgeError>(part?.map(|part| (part, file)))
    }))
}

/// What was read of a document.
#[utoipa::path(get, path = "/kb/documents/{document_id}/text", tag = "knowledge", params(("document_id" = Id, Path), TextQuery),
    responses((status = 200, description = "The characters", body = DocumentText), (status = 404, body = ErrorBody)))]
async fn show_text(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    Query(query): Query<TextQuery>,
) -> Result<Json<DocumentText>, HttpError> {
    let place = |at: Whole<0, { u32::MAX as u64 }>| usize::try_from(at.0).unwrap_or(usize::MAX);
    let (from, to) = (query.from.map(place), query.to.map(place));
    Ok(Json(caller.document_text(&id.0, from, to).await?))
}

/// The chunks by which a document is found.
#[utoipa::path(get, path = "/kb/documents/{document_id}/segments", tag = "knowledge", params(("document_id" = Id, Path), ChunkQuery),
    responses((status = 200, description = "Some chunks", body = ChunkPage), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_chunks(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    Query(query): Query<ChunkQuery>,
) -> Result<Json<ChunkPage>, HttpError> {
    let from = match &query.scroll_id {
        None => 0,
        Some(place) => place.0.parse::<u32>().map_err(|_| {
            Error::invalid("scroll_id", "scroll_id must be that of the answer before")
        })?,
    };
    let limit = query.limit.map_or(CHUNKS, |limit| limit.0);
    let end = from.saturating_add(u32::try_from(limit).unwrap_or(u32::MAX));
    let read = caller
        .base
        .document_chunks(&caller.reach, &id.0, from..end.saturating_add(1));
    let mut segments = read.await?;
    let has_more = segments.len() as u64 > limit;
    segments.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Json(ChunkPage {
        segments,
        scroll_id: has_more.then(|| end.to_string()),
        has_more,
    }))
}
