//! Events of a Response's stream.

use super::item::{OutputText, ResponseItem, SummaryText};
use super::response::ResponseObject;
use serde::Serialize;
use utoipa::ToSchema;

/// One event.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ResponseEvent {
    /// What has happened; the event's name too.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its place in the stream, from 0.
    pub sequence_number: u64,
    /// What it says.
    #[serde(flatten)]
    pub content: ResponseEventContent,
}

/// Which item an event is about.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutputPosition {
    pub item_id: String,
    /// Its place in the output, from 0.
    pub output_index: usize,
}

/// What an event says.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ResponseEventContent {
    /// The Response begins or ends.
    Response { response: Box<ResponseObject> },
    /// An item begins or ends.
    Item {
        output_index: usize,
        item: ResponseItem,
    },
    /// A part of a message begins or ends.
    ContentPart {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        content_index: usize,
        part: OutputText,
    },
    /// More text.
    TextDelta {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        content_index: usize,
        delta: String,
        /// None.
        #[schema(value_type = Vec<Object>)]
        logprobs: [u8; 0],
    },
    /// The whole text.
    TextDone {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        content_index: usize,
        text: String,
        /// None.
        #[schema(value_type = Vec<Object>)]
        logprobs: [u8; 0],
    },
    /// A part of a summary begins or ends.
    SummaryPart {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        summary_index: usize,
        part: SummaryText,
    },
    /// More of a summary.
    SummaryDelta {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        summary_index: usize,
        delta: String,
    },
    /// The whole summary.
    SummaryDone {
        #[serde(flatten)]
        at: OutputPosition,
        /// 0.
        summary_index: usize,
        text: String,
    },
    /// More of a call's arguments or input.
    CallDelta {
        #[serde(flatten)]
        at: OutputPosition,
        delta: String,
    },
    /// All arguments of a call.
    ArgumentsDone {
        #[serde(flatten)]
        at: OutputPosition,
        /// The function, where the client runs it.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        arguments: String,
    },
    /// The whole input of a call.
    InputDone {
        #[serde(flatten)]
        at: OutputPosition,
        input: String,
    },
    /// How far a call of the server is.
    CallProgress(OutputPosition),
}
