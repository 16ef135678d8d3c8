//! A turn's failure, as its stream tells it.

use super::frames::read;
use crate::status::{kind, status};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Error, ErrorCode, Frame};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

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

/// A turn's failure in OpenAI's shape.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnFailure {
    error: FailureDetails,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct FailureDetails {
    /// What failed, for which input, and what would help.
    message: String,
    /// The kind of failure, as OpenAI names kinds.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The failure by meaning.
    code: String,
}

impl From<&Error> for FailureDetails {
    fn from(error: &Error) -> Self {
        Self {
            message: error.message.clone(),
            kind: kind(status(error)),
            code: error.code.to_string(),
        }
    }
}

impl From<&Error> for TurnFailure {
    fn from(error: &Error) -> Self {
        let error = FailureDetails::from(error);
        Self { error }
    }
}
