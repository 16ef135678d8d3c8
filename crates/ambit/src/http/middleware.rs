//! Around every request: its id, its span and metrics, failures written out, and panics caught.

use super::error::{ErrorBody, ErrorExtension, HttpError};
use super::listing_routes::with_list;
use super::{SharedState, anthropic};
use ambit_runtime::{Error, refusal, server_failure};
use ambit_storage::ids;
use ambit_telemetry::{OTHER, table};
use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Instant;
use tracing::Instrument;
use tracing::field::Empty;

/// The header with the turn's id.
pub const REQUEST: &str = "x-ambit-request";

/// The id of a request, which its turn has too.
#[derive(Clone)]
pub struct RequestId(pub String);

/// Runs a request to its answer's first byte.
pub async fn finish(
    State(server): State<SharedState>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = ids::ordered(&server.runtime.stores().options().clock);
    request.extensions_mut().insert(RequestId(id.clone()));
    let name = request.method().to_string();
    let method = known_method(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "-".to_owned(), |route| route.as_str().to_owned());
    // Of the level of errors, so that all lines have it whatever the log tells.
    let span = tracing::error_span!(
        "request",
        request.id = id.as_str(),
        http.method = name.as_str(),
        http.route = route.as_str(),
        user.id = Empty,
        agent.id = Empty,
        chat.id = Empty,
        acted_by.user_id = Empty,
        acted_by.client_id = Empty,
    );
    let began = Instant::now();
    let write = failure_writer(request.uri().path(), &server.settings.base);
    async {
        let ran = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let mut response = ran.unwrap_or_else(|_| {
            HttpError::from(Error::internal("the server failed; its log says why")).into_response()
        });
        if let Some(ErrorExtension(error)) = response.extensions_mut().remove::<ErrorExtension>() {
            let error = with_list(*error, &route, &server.settings.base);
            response = with_error_body(response, error, &id, |error, id| {
                write(error, id, server.settings.is_development)
            });
        }
        let status = response.status().as_u16();
        let seconds = began.elapsed().as_secs_f64();
        let (metrics, code) = (server.runtime.metrics(), status.to_string());
        metrics.count(&table::HTTP_REQUESTS, [method, &route, &code]);
        metrics.observe(&table::HTTP_REQUEST_SECONDS, [&route], seconds);
        tracing::info!(http.status = status, seconds, "answered");
        response
    }
    .instrument(span)
    .await
}

/// The method as a label: clients may make up others.
fn known_method(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    let mut known = known.into_iter();
    known.find(|name| *name == method.as_str()).unwrap_or(OTHER)
}

/// Writes a failure of a request with this id, in development mode with its stack.
type FailureWriter = fn(Error, &str, bool) -> Response;

/// Who writes failures at this path: a protocol with a shape of its own, or else this API.
fn failure_writer(path: &str, base: &str) -> FailureWriter {
    match path.strip_prefix(base) {
        Some(path) if anthropic::has_path(path) => {
            |error, id, _| anthropic::write_failure(&error, id)
        }
        _ => |error, id, is_development| {
            Json(ErrorBody::of(error, id, is_development)).into_response()
        },
    }
}

/// Says why a request has failed. What is wrong with the request itself is for whoever looks for it.
fn log_failure(status: StatusCode, error: &Error) {
    if status.is_server_error() {
        let why = server_failure(error);
        tracing::error!(error.code = %error.code, error.stack = ?error.stack, "{why}");
        return;
    }
    tracing::debug!(
        http.status = status.as_u16(),
        error.code = %error.code,
        error.param = error.param,
        error.message = refusal(error),
        "refused"
    );
}

/// The answer with its failure written out, and logged.
fn with_error_body(
    response: Response,
    error: Error,
    id: &str,
    write: impl FnOnce(Error, &str) -> Response,
) -> Response {
    let (mut parts, _) = response.into_parts();
    let turn = parts
        .headers
        .get(REQUEST)
        .and_then(|turn| turn.to_str().ok());
    // A turn logs its own failure.
    if turn.is_none() && !error.is_logged {
        log_failure(parts.status, &error);
    }
    let id = turn.unwrap_or(id).to_owned();
    let (text, body) = write(error, &id).into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.extend(text.headers);
    Response::from_parts(parts, body)
}
