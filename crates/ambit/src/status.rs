//! The HTTP status of each error and the `type` that goes with it: the one place that chooses them.

use ambit_runtime::{Code, Error};
use axum::http::StatusCode;

/// Returns the status of an error: its own if it is one of a failure, else that of its code.
pub fn status(error: &Error) -> StatusCode {
    let own = error.status.filter(|status| (400..600).contains(status));
    own.and_then(|status| StatusCode::from_u16(status).ok())
        .unwrap_or_else(|| of_code(&error.code))
}

fn of_code(code: &Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::ConnectorNotAllowed => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied | Code::Vetoed => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict | Code::ChatBusy | Code::TooLate | Code::Cancelled => StatusCode::CONFLICT,
        Code::StreamExpired => StatusCode::GONE,
        Code::Unsupported | Code::LlmContentFilter => StatusCode::UNPROCESSABLE_ENTITY,
        Code::LimitExceeded => StatusCode::PAYLOAD_TOO_LARGE,
        Code::LlmRateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal
        | Code::ConfigError
        | Code::Corrupt
        | Code::HookError
        | Code::ScriptCpuLimit
        | Code::ScriptTimeout
        | Code::ScriptOutOfMemory
        | Code::OutputLimit
        | Code::DelegateDepth
        | Code::ToolError
        | Code::SearchError
        | Code::Own(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Unavailable | Code::Fenced | Code::Partial => StatusCode::SERVICE_UNAVAILABLE,
        Code::LlmError | Code::McpError => StatusCode::BAD_GATEWAY,
        Code::Timeout => StatusCode::GATEWAY_TIMEOUT,
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
