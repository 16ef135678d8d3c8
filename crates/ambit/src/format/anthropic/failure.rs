//! Failures in Anthropic's shape.

use crate::status::status;
use ambit_runtime::Error;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// The body of a failure.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnthropicFailure {
    /// `error`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What went wrong.
    error: AnthropicFailureDetails,
    /// The request; nothing where the turn's own stream tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnthropicFailureDetails {
    /// The kind of failure, as Anthropic names kinds.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What failed, for which input, and what would help.
    message: String,
}

impl AnthropicFailure {
    /// The body of this failure of a request.
    pub fn of(error: &Error, request_id: Option<&str>) -> Self {
        Self {
            kind: "error",
            error: AnthropicFailureDetails::from(error),
            request_id: request_id.map(str::to_owned),
        }
    }
}

impl From<&Error> for AnthropicFailureDetails {
    fn from(error: &Error) -> Self {
        Self {
            kind: kind(status(error)),
            message: error.message.clone(),
        }
    }
}

/// Returns the `type` of a failure with this status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 | 410 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}
