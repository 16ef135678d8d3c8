//! A request's body, read whole within limits.

use super::error::too_large;
use super::{Failure, Shared};
use ambit_runtime::{Code, Error};
use axum::body::{Body as Raw, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use futures::StreamExt;
use std::time::Duration;

/// What is read and dropped of a body that is too large, so that a client that sends before it listens hears why.
const DRAIN: usize = 256 << 20;
/// For how long.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A whole body.
pub struct Body(pub Bytes);

impl FromRequest<Shared> for Body {
    type Rejection = Failure;

    async fn from_request(request: Request, server: &Shared) -> Result<Self, Failure> {
        let limit = server.settings.body_limit;
        let (parts, body) = request.into_parts();
        let reading = read(&parts.headers, body, limit);
        let Ok(read) = tokio::time::timeout(server.settings.body_time, reading).await else {
            let mut error = Error::new(Code::Timeout, "the body took too long to arrive");
            error.status = Some(408);
            return Err(error.into());
        };
        Ok(Self(read?))
    }
}

async fn read(headers: &HeaderMap, body: Raw, limit: usize) -> Result<Bytes, Error> {
    let told = headers
        .get(CONTENT_LENGTH)
        .and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
    let told = told.unwrap_or(0);
    let mut stream = body.into_data_stream();
    let mut whole = Vec::new();
    let mut is_too_large = told > limit as u64;
    // Who asked first need not send.
    while !(is_too_large && headers.contains_key(EXPECT)) {
        if is_too_large {
            drop(tokio::time::timeout(DRAIN_TIME, drain(stream)).await);
            break;
        }
        let Some(piece) = stream.next().await else {
            return Ok(whole.into());
        };
        let piece = piece
            .map_err(|error| Error::invalid("body", format!("the body broke off: {error}")))?;
        is_too_large = whole.len() + piece.len() > limit;
        if !is_too_large {
            whole.extend_from_slice(&piece);
        }
    }
    Err(too_large(limit))
}

async fn drain(mut stream: axum::body::BodyDataStream) {
    let mut read = 0;
    while let Some(Ok(piece)) = stream.next().await {
        read += piece.len();
        if read > DRAIN {
            break;
        }
    }
}
