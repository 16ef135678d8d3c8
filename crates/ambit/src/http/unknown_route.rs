//! What is answered at paths where no route is: where it would be.

use super::operations::Operations;
use super::{HttpError, SharedState};
use ambit_runtime::Error;
use axum::Extension;
use axum::extract::State;
use axum::http::Uri;

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

/// Where the route is that may be meant.
fn hint(operations: &Operations, base: &str, path: &str) -> String {
    let below = path.strip_prefix(base);
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        None if operations.have_path(path, true) => format!("; it is at {base}{path}"),
        None => format!("; routes begin with {base}, and GET /openapi.json lists them"),
        Some("" | "/") => {
            format!("; routes are below {base}, and GET /openapi.json lists them")
        }
        Some(below) if operations.have_path(below, false) => {
            format!("; it is at {below}, without {base}")
        }
        Some(below)
            if below
                .strip_prefix(base)
                .is_some_and(|rest| operations.have_path(rest, true)) =>
        {
            format!("; it is at {below}: {base} stands there twice")
        }
        Some(_) => String::new(),
    }
}
