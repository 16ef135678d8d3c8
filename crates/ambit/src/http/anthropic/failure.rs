//! Failures of these routes, and of what would be one of them.

use super::REQUEST_ID;
use crate::format::anthropic::AnthropicFailure;
use ambit_runtime::Error;
use axum::Json;
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};

/// Writes the failure of a request with this id.
pub fn write(error: &Error, request_id: &str) -> Response {
    let body = Json(AnthropicFailure::of(error, Some(request_id)));
    let mut response = body.into_response();
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
