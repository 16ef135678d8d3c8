//! A turn's failure, as its stream tells it.

use super::frames::read;
use crate::status::{kind, status};
use ambit_runtime::frame::{StreamEndEvent, TurnEvent};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Error, ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

/// The failure that a log ends with, if it does: who does not stream answers with its HTTP status.
pub fn failure(entries: &[StreamEntry]) -> Option<Error> {
    match TurnEvent::read(&read(entries.last()?)?)? {
        TurnEvent::StreamEnd(end) => of_end(&end),
        _ => None,
    }
}

/// The failure that a `stream_end` tells.
pub(super) fn of_end(end: &StreamEndEvent<'_>) -> Option<Error> {
    if end.status != Some("error") {
        return None;
    }
    let code = end.code.map_or(ErrorCode::Internal, ErrorCode::from);
    Some(Error::new(code, end.error.unwrap_or("the turn failed")))
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
