//! A turn's failure, as its stream tells it.

use super::frames::read;
use crate::status::{kind, status};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Error, ErrorCode, Frame};
use serde_json::{Value, json};

/// The failure that a log ends with, if it does: who does not stream answers with its HTTP status.
pub fn failure(entries: &[StreamEntry]) -> Option<Error> {
    of_end(&read(entries.last()?)?)
}

/// The failure that a `stream_end` tells.
pub(super) fn of_end(frame: &Frame) -> Option<Error> {
    let data = frame.event_data()?;
    if frame.event_name() != Some("stream_end") || data.get("status")? != "error" {
        return None;
    }
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let code = text("code").map_or(ErrorCode::Internal, ErrorCode::from);
    Some(Error::new(code, text("error").unwrap_or("the turn failed")))
}

/// The error in OpenAI's shape.
pub(super) fn error_body(error: &Error) -> Value {
    json!({"error": {
        "message": error.message,
        "type": kind(status(error)),
        "code": error.code.as_str(),
    }})
}
