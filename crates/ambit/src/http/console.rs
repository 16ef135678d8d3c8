//! The web console: a page and its files, the same for everybody. They hold no data; what the page shows comes from the routes.

mod files;

pub use files::ConsoleFiles;

use super::{HttpError, SharedState};
use ambit_runtime::Error;
use ambit_runtime::app::AppConsole;
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use files::{ConsoleFile, ConsoleSite};
use std::sync::Arc;

/// Where the console is.
pub const PATH: &str = "/console";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
pub(super) const RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// The page and its files; without a built console none.
pub fn router(server: &SharedState) -> Router<SharedState> {
    let settings = &server.settings;
    let Some(site) = ConsoleSite::of(&settings.console, &settings.base) else {
        return Router::new();
    };
    let router = match settings.is_embedded {
        // What is there is the business of the program around the server.
        true => Router::new(),
        false => Router::new().route("/", get(lead_from_root)),
    };
    router
        .route(PATH, get(lead_to_page))
        .route("/console/", get(send_page))
        .route("/console/{*path}", get(send_asset))
        .layer(Extension(Arc::new(site)))
}

async fn lead_from_root(State(server): State<SharedState>) -> Result<impl IntoResponse, HttpError> {
    settings(&server, "/")?;
    // For now: browsers keep what is permanent, and other servers have the same address on another day.
    let place = [(LOCATION, "console/")];
    Ok((StatusCode::TEMPORARY_REDIRECT, place))
}

async fn lead_to_page(State(server): State<SharedState>) -> Result<impl IntoResponse, HttpError> {
    settings(&server, PATH)?;
    // Relative, as a proxy may put something before the path.
    let place = [(LOCATION, "console/")];
    Ok((StatusCode::PERMANENT_REDIRECT, place))
}

async fn send_page(
    State(server): State<SharedState>,
    Extension(site): Extension<Arc<ConsoleSite>>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let console = settings(&server, "/console/")?;
    let mut response = match is_known(&site.tag, &headers) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => body(&site.page, &headers),
    };
    let sent = response.headers_mut();
    sent.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Both are texts without what a header refuses.
    if let Ok(tag) = HeaderValue::from_str(&site.tag) {
        sent.insert(ETAG, tag);
    }
    if let Ok(policy) = HeaderValue::from_str(&content_policy(&console)) {
        sent.insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(protect(response))
}

async fn send_asset(
    State(server): State<SharedState>,
    Extension(site): Extension<Arc<ConsoleSite>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let path = format!("/console/{path}");
    settings(&server, &path)?;
    let asset = site.assets.get(&path);
    let asset = asset.ok_or_else(|| Error::not_found("route", &path))?;
    let mut response = body(asset, &headers);
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, forever);
    Ok(protect(response))
}

/// The app's settings of its console; an error where it has none.
fn settings(server: &SharedState, path: &str) -> Result<AppConsole, HttpError> {
    let console = server.runtime.app().settings.console.clone();
    match console.enabled {
        true => Ok(console),
        false => Err(Error::not_found("route", path).into()),
    }
}

/// Whether the client has the file already (RFC 9110, 13.1.2).
fn is_known(own: &str, headers: &HeaderMap) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut known = known.filter_map(|known| known.to_str().ok());
    let is_it = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == own;
    known.any(|known| known.split(',').map(str::trim).any(is_it))
}

/// The file as the client takes it.
fn body(file: &ConsoleFile, headers: &HeaderMap) -> Response {
    let head = [
        (CONTENT_TYPE, file.content_type),
        (VARY, ACCEPT_ENCODING.as_str()),
    ];
    if takes_gzip(headers) {
        return (head, [(CONTENT_ENCODING, "gzip")], file.packed.clone()).into_response();
    }
    match file.unpacked() {
        Some(whole) => (head, whole).into_response(),
        None => {
            HttpError::from(Error::internal("a file of the console is damaged")).into_response()
        }
    }
}

/// Whether `Accept-Encoding` names gzip, other than to refuse it.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).into_iter();
    let mut names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    names.any(|name| {
        let (name, weight) = name.split_once(";q=").unwrap_or((name, "1"));
        let is_taken = weight
            .trim()
            .parse::<f32>()
            .is_ok_and(|weight| weight > 0.0);
        is_taken && name.trim().eq_ignore_ascii_case("gzip")
    })
}

/// What the page may load and do: what is of this server, and pictures of origins that the app names.
fn content_policy(console: &AppConsole) -> String {
    let named = console.image_origins().map(|origin| format!(" {origin}"));
    let named: String = named.collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:{named}; media-src 'self' data: blob:{named}; \
         connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify"
    )
}

/// Keeps other sites away from a file.
fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
