//! A frame: one entry of a turn's event log, in the shape in which it is stored and, for most clients, sent.

pub mod change;
pub mod invariants;
mod output_messages;
pub mod props_path;
mod stream_event;
mod turn_event;

pub use output_messages::{MessageStatus, OutputMessage, OutputMessages, apply, text_of};
pub use stream_event::{STREAM_EVENTS, StreamEventRow};
pub use turn_event::{
    MessageStartEvent, StepEndEvent, StreamEndEvent, StreamStartEvent, ThreadStartEvent,
    ToolCallStartEvent, TurnEvent,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A message, a change of one, or an event. Empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Frame {
    /// What kind of message; `event` for events.
    #[serde(rename = "type")]
    pub kind: String,
    /// The content, or the part of it that changes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub props: Map<String, Value>,
    /// `C1`, `C2`, …: every frame that carries message data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The block it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    /// The thread it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// It changes a message instead of being one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delta: bool,
    /// Where it changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_path: Option<String>,
    /// How.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_action: Option<DeltaAction>,
    /// The message has another type from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub type_change: bool,
    /// What a script gave with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// How a frame changes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeltaAction {
    /// Adds to a string or a list.
    Append,
    /// Replaces all props.
    Replace,
    /// Merges objects deeply.
    Merge,
    /// Puts a value.
    Set,
}

impl Frame {
    /// An event frame.
    pub fn event(name: &str, message: &str, data: Value) -> Self {
        let mut props = Map::new();
        props.insert("event".to_owned(), name.into());
        props.insert("message".to_owned(), message.into());
        props.insert("data".to_owned(), data);
        Self {
            kind: "event".to_owned(),
            props,
            ..Self::default()
        }
    }

    /// The event's name, if it is one.
    pub fn event_name(&self) -> Option<&str> {
        match self.kind.as_str() {
            "event" => self.props.get("event").and_then(Value::as_str),
            _ => None,
        }
    }

    /// The event's data.
    pub fn event_data(&self) -> Option<&Map<String, Value>> {
        self.props.get("data").and_then(Value::as_object)
    }
}
