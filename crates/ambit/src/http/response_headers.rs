//! What every answer tells browsers: nothing of it is for pages of other sites, nor to be stored.

use super::SharedState;
use super::console::RESOURCE_POLICY;
use crate::auth::cors::CorsRules;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What pages of listed origins may read besides the body.
const READ: &str =
    "etag, retry-after, x-ambit-request, x-ambit-context, x-ambit-trace, x-ambit-chat";
const METHODS: &str = "GET, POST, PUT, DELETE, PATCH";
/// Seconds for which browsers remember that.
const MAX_AGE: &str = "600";

/// Adds the headers that an answer lacks, and answers what browsers ask before requests of other origins.
pub async fn add(State(server): State<SharedState>, request: Request, next: Next) -> Response {
    let config = server.auth.config();
    let rules = config.cors.as_ref();
    let rules = rules.filter(|_| !server.auth.is_development());
    let allowed = rules.and_then(|rules| Some((rules, rules.allowed_origin(request.headers())?)));
    let asks_first = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &allowed {
        Some((rules, _)) if asks_first => permission(rules),
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
    if rules.is_some() {
        // A cache must not give one page what another one was told.
        headers.append(VARY, HeaderValue::from_name(ORIGIN));
    }
    if let Some((rules, origin)) = allowed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let read = HeaderValue::from_static(READ);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, read);
        if rules.has_credentials {
            let is_so = HeaderValue::from_static("true");
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, is_so);
        }
    }
    response
}

/// What pages of a listed origin may send.
fn permission(rules: &CorsRules) -> Response {
    let headers = [
        (
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(METHODS),
        ),
        (ACCESS_CONTROL_ALLOW_HEADERS, rules.sent.clone()),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE)),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
