//! What a client gives along with a message, for itself and other clients: it is stored and returned, and no model is told of it.

use super::message::invalid_field;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::RangeInclusive;

/// Bytes of an id that a client gives to a message.
const ID_LENGTH: RangeInclusive<usize> = 1..=200;

/// What a client gives along with a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientMessageFields {
    /// The id by which the client knows the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The message's parts in the client's own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Value>,
    /// The item of OpenAI's Responses that the message is, but for its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    /// Free data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// What a tool of the client has returned, in the client's own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The tool of the client has failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ClientMessageFields {
    /// Fields that hold just an id.
    pub fn of_id(id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..Self::default()
        }
    }

    /// Refuses an id that cannot be stored; `path` names the message in errors.
    pub fn check(&self, path: &str) -> Result<()> {
        let length = self.id.as_ref().map(String::len);
        if length.is_none_or(|length| ID_LENGTH.contains(&length)) {
            return Ok(());
        }
        let (least, most) = (ID_LENGTH.start(), ID_LENGTH.end());
        let reason = format!("must have {least} to {most} bytes");
        Err(invalid_field(path, "id", &reason))
    }
}
