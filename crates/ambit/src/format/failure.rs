//! A turn's failure, as its stream tells it.

use super::message::read;
use ambit_runtime::stream::Entry;
use ambit_runtime::{Code, Error, Frame};
use serde_json::{Value, json};

/// `type` of an error in OpenAI's shape.
pub fn failure_type(code: &Code) -> &'static str {
    match code {
        Code::InvalidArgument | Code::ConnectorNotAllowed | Code::Unsupported => {
            "invalid_request_error"
        }
        Code::Unauthenticated => "authentication_error",
        Code::PermissionDenied | Code::Vetoed => "permission_error",
        Code::NotFound | Code::StreamExpired => "not_found_error",
        Code::Conflict | Code::ChatBusy | Code::TooLate => "conflict_error",
        Code::LimitExceeded | Code::LlmRateLimited => "rate_limit_error",
        Code::LlmError
        | Code::LlmContentFilter
        | Code::McpError
        | Code::ToolError
        | Code::SearchError
        | Code::Timeout => "upstream_error",
        Code::HookError
        | Code::ConfigError
        | Code::ScriptCpuLimit
        | Code::ScriptTimeout
        | Code::ScriptOutOfMemory
        | Code::OutputLimit
        | Code::DelegateDepth
        | Code::Fenced
        | Code::Partial
        | Code::Unavailable
        | Code::Corrupt
        | Code::Cancelled
        | Code::Internal
        | Code::Own(_) => "server_error",
    }
}

/// The failure that a log ends with, if it does: who does not stream answers with its HTTP status.
pub fn failure(entries: &[Entry]) -> Option<Error> {
    of_end(&read(entries.last()?)?)
}

/// The failure that a `stream_end` tells.
pub(super) fn of_end(frame: &Frame) -> Option<Error> {
    let data = frame.event_data()?;
    if frame.event_name() != Some("stream_end") || data.get("status")? != "error" {
        return None;
    }
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let code = text("code").map_or(Code::Internal, Code::from);
    Some(Error::new(code, text("error").unwrap_or("the turn failed")))
}

/// The error in OpenAI's shape.
pub(super) fn shown(error: &Error) -> Value {
    json!({"error": {
        "message": error.message,
        "type": failure_type(&error.code),
        "code": error.code.as_str(),
    }})
}
