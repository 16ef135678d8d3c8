//! What every answer tells browsers: nothing of it is for pages of other sites, nor to be stored.

use super::SharedState;
use super::console::RESOURCE_POLICY;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    CACHE_CONTROL, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What pages of listed origins may send. `X-Ambit-Console` is not among it, so that no cookie of theirs counts.
const SENT: &str = "authorization, content-type, idempotency-key, last-event-id, x-api-key, anthropic-version, anthropic-beta";
/// What they may read besides the body.
const READ: &str =
    "etag, retry-after, x-ambit-request, x-ambit-context, x-ambit-trace, x-ambit-chat";
const METHODS: &str = "GET, POST, PUT, DELETE, PATCH";
/// Seconds for which browsers remember that.
const MAX_AGE: &str = "600";

/// Adds the headers that an answer lacks, and answers what browsers ask before requests of other origins.
pub async fn add(State(server): State<SharedState>, request: Request, next: Next) -> Response {
    let origin = allowed_origin(&server, request.headers());
    let asks_first = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if asks_first => permission(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (RESOURCE_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let read = HeaderValue::from_static(READ);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, read);
        headers.append(VARY, HeaderValue::from_name(ORIGIN));
    }
    response
}

/// The origin of the page that asks, if the app lists it.
fn allowed_origin(server: &SharedState, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let is_listed = server.auth.has_cors_origin(origin.to_str().ok()?);
    is_listed.then(|| origin.clone())
}

/// What pages of a listed origin may send.
fn permission() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
