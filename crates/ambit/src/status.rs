//! The HTTP status of each error and the `type` that goes with it: the one place that chooses them.

use ambit_runtime::{Error, ErrorCode};
use axum::http::StatusCode;

/// Returns the status of an error: its own if it is one of a failure, else that of its code.
pub fn status(error: &Error) -> StatusCode {
    let own = error.status.filter(|status| (400..600).contains(status));
    own.and_then(|status| StatusCode::from_u16(status).ok())
        .unwrap_or_else(|| of_code(&error.code))
}

fn of_code(code: &ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidArgument | ErrorCode::ConnectorNotAllowed => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::PermissionDenied | ErrorCode::Vetoed => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::ChatBusy | ErrorCode::TooLate | ErrorCode::Cancelled => {
            StatusCode::CONFLICT
        }
        ErrorCode::StreamExpired => StatusCode::GONE,
        ErrorCode::Unsupported | ErrorCode::LlmContentFilter => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::LimitExceeded => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::LlmRateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Internal
        | ErrorCode::ConfigError
        | ErrorCode::Corrupt
        | ErrorCode::HookError
        | ErrorCode::ScriptCpuLimit
        | ErrorCode::ScriptTimeout
        | ErrorCode::ScriptOutOfMemory
        | ErrorCode::OutputLimit
        | ErrorCode::DelegateDepth
        | ErrorCode::ToolError
        | ErrorCode::SearchError
        | ErrorCode::Own(_) => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::Unavailable | ErrorCode::Fenced | ErrorCode::Partial => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorCode::LlmError | ErrorCode::McpError => StatusCode::BAD_GATEWAY,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// Returns the `type`, as OpenAI names kinds, of a failure with this status.
pub fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 | 410 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        502 | 504 => "upstream_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}
