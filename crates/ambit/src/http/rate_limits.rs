//! What is answered where a caller does more than `limits` of `openapi.yao` allow, or reads no answers.

use super::ServerState;
use crate::auth::rate_limits::{LimitedThing, PageBuild, ReachedLimit, StreamPlace};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use ambit_telemetry::table;
use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use futures::{TryStreamExt, stream};
use serde_json::json;

/// Answers of fewer bytes are not counted.
const LARGE: u64 = 256 << 10;
/// A large answer is sent in pieces of so many bytes: what was not taken has its place.
const PIECE: usize = 64 << 10;

/// Counts a request, or refuses it.
pub async fn count_request(server: &ServerState, who: &Authorized) -> Result<()> {
    let reached = server.auth.limits().count_request(who).await?;
    reached.map_or(Ok(()), |reached| Err(refused(server, reached)))
}

/// Counts a turn that is to begin, or refuses it.
pub async fn count_turn(server: &ServerState, who: &Authorized) -> Result<()> {
    let reached = server.auth.limits().count_turn(who).await?;
    reached.map_or(Ok(()), |reached| Err(refused(server, reached)))
}

/// The place of one more stream of the caller's.
pub async fn stream_place(server: &ServerState, who: &Authorized) -> Result<StreamPlace> {
    let place = server.auth.limits().stream_place(who).await?;
    place.map_err(|reached| refused(server, reached))
}

/// Waits until one more page may be built for the caller. The answer has it with it, so that it is over when the answer is counted.
pub async fn page_build(server: &ServerState, who: &Authorized) -> Extension<PageBuild> {
    Extension(server.auth.limits().page_build(who).await)
}

/// Refuses a request that may change something, where its answer would have no place.
pub fn check_answers(server: &ServerState, who: &Authorized, method: &Method) -> Result<()> {
    if method.is_safe() {
        return Ok(());
    }
    let checked = server.auth.limits().check_answers(who);
    checked.map_err(|reached| refused(server, reached))
}

/// Sends an answer, which has a place among the large ones of the caller's until the client has taken it. One that has no place is
/// refused, but where the request may have changed something.
pub fn hold_answer(
    server: &ServerState,
    who: &Authorized,
    method: &Method,
    mut answer: Response,
) -> Result<Response> {
    let _build = answer.extensions_mut().remove::<PageBuild>();
    let size = answer.body().size_hint().exact();
    let Some(size) = size.filter(|size| *size >= LARGE) else {
        return Ok(answer);
    };
    let limits = server.auth.limits();
    let place = match method.is_safe() {
        true => limits.answer_place(who, size),
        false => Ok(limits.place_of_done(who, size)),
    };
    let place = place.map_err(|reached| refused(server, reached))?;
    let (mut parts, body) = answer.into_parts();
    let length = parts.headers.entry(CONTENT_LENGTH);
    length.or_insert(HeaderValue::from(size));
    let pieces = body.into_data_stream().map_ok(move |bytes| {
        // Captured, so that it lives as long as the stream.
        let _ = &place;
        stream::iter(pieces(bytes).map(Ok::<_, axum::Error>))
    });
    let body = Body::from_stream(pieces.try_flatten());
    Ok(Response::from_parts(parts, body))
}

fn pieces(bytes: Bytes) -> impl Iterator<Item = Bytes> {
    let size = bytes.len();
    let starts = (0..size).step_by(PIECE);
    starts.map(move |start| bytes.slice(start..size.min(start + PIECE)))
}

fn refused(server: &ServerState, reached: ReachedLimit) -> Error {
    let ReachedLimit {
        caller,
        thing,
        most,
        retry_after,
    } = reached;
    let (caller, name) = (caller.name(), thing.name());
    let metrics = server.runtime.metrics();
    metrics.count(&table::LIMIT_REFUSALS, [caller, name]);
    let message = match thing {
        LimitedThing::Streams => {
            format!("this {caller} has {most} {name} open, which is all that is allowed; close one")
        }
        LimitedThing::Answers => {
            format!(
                "this {caller} has answers of {most} bytes that were not read, which is all that is allowed; read them first"
            )
        }
        _ => format!(
            "this {caller} may have {most} {name} a minute; try again in {retry_after} seconds"
        ),
    };
    let mut error = Error::new(ErrorCode::LimitExceeded, message);
    error.status = Some(429);
    let details = json!({ "retry_after": retry_after, "by": caller, "limit": name, "most": most });
    error.details = Some(Box::new(details));
    error
}
