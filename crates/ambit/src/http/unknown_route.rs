//! What is answered where no route is: where it would be, or which method the path does not have.

use super::operations::Operations;
use super::{HttpError, RoutePlace, SharedState};
use crate::auth::access::{EndpointPattern, RequestTarget};
use ambit_runtime::{Error, ErrorCode};
use axum::Extension;
use axum::extract::State;
use axum::http::{Method, Uri};

/// Operations of Yao's API that are not offered, at paths that have other methods here. A chunk's text is that of its document.
const NOT_OFFERED: &[&str] = &[
    "POST /kb/documents/:document_id/segments",
    "PUT /kb/documents/:document_id/segments",
    "DELETE /kb/documents/:document_id/segments",
    "PUT /kb/documents/:document_id/segments/:segment_id",
    "DELETE /kb/documents/:document_id/segments/:segment_id",
];

/// Says that there is no such route.
pub async fn answer(
    State(server): State<SharedState>,
    Extension(operations): Extension<Operations>,
    uri: Uri,
) -> HttpError {
    let mut error = Error::not_found("route", uri.path());
    error.message += &hint(&operations, &server.settings.base, uri.path());
    error.into()
}

/// Says which methods a path has instead; of an operation that is not offered, that there is no such route.
pub async fn no_method(
    State(server): State<SharedState>,
    Extension(operations): Extension<Operations>,
    method: Method,
    uri: Uri,
) -> HttpError {
    let below = uri.path().strip_prefix(&server.settings.base);
    let target = below.and_then(|below| RequestTarget::of(method.as_str(), below));
    if target.is_some_and(|target| is_not_offered(&target)) {
        return Error::not_found("route", uri.path()).into();
    }
    let methods = match below {
        Some(below) => operations.methods(below, RoutePlace::BelowBase),
        None => operations.methods(uri.path(), RoutePlace::BesideBase),
    };
    let advice = match methods.is_empty() {
        true => String::new(),
        false => format!("; it has {}", methods.join(" and ")),
    };
    let message = format!("{method} is not a method of {}{advice}", uri.path());
    let mut error = Error::new(ErrorCode::Unsupported, message);
    error.status = Some(405);
    error.into()
}

fn is_not_offered(target: &RequestTarget) -> bool {
    let patterns = NOT_OFFERED.iter().map(|it| EndpointPattern::parse(it));
    patterns.flatten().any(|pattern| pattern.matches(target))
}

/// Where the route is that may be meant.
fn hint(operations: &Operations, base: &str, path: &str) -> String {
    let below = path.strip_prefix(base);
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        None if operations.have_path(path, RoutePlace::BelowBase) => {
            format!("; it is at {base}{path}")
        }
        None => format!("; routes begin with {base}, and GET /openapi.json lists them"),
        Some("" | "/") => {
            format!("; routes are below {base}, and GET /openapi.json lists them")
        }
        Some(below) if operations.have_path(below, RoutePlace::BesideBase) => {
            format!("; it is at {below}, without {base}")
        }
        Some(below)
            if below
                .strip_prefix(base)
                .is_some_and(|rest| operations.have_path(rest, RoutePlace::BelowBase)) =>
        {
            format!("; it is at {below}: {base} stands there twice")
        }
        Some(_) => String::new(),
    }
}
