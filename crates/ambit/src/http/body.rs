//! A request's body, read whole within limits.

use super::SharedState;
use super::error::too_large;
use ambit_runtime::{Error, ErrorCode, Result};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt;

/// Reads the body of a request.
pub(super) async fn read(request: Request, server: &SharedState) -> Result<Bytes> {
    read_at_most(server.settings.body_limit, request, server).await
}

/// Reads the body of a request, which has at most so many bytes.
pub(super) async fn read_at_most(
    limit: usize,
    request: Request,
    server: &SharedState,
) -> Result<Bytes> {
    let (parts, body) = request.into_parts();
    let reading = read_within(&parts.headers, body, limit);
    let Ok(read) = tokio::time::timeout(server.settings.body_time, reading).await else {
        let mut error = Error::new(ErrorCode::Timeout, "the body took too long to arrive");
        error.status = Some(408);
        return Err(error);
    };
    read
}

async fn read_within(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes> {
    let told = headers
        .get(CONTENT_LENGTH)
        .and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
    if told.unwrap_or(0) > limit as u64 {
        return Err(too_large(limit));
    }
    let mut stream = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece
            .map_err(|error| Error::invalid("body", format!("the body broke off: {error}")))?;
        if whole.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}
