//! The events of a stream.

use super::failure::AnthropicFailureDetails;
use super::message::{AnthropicBlock, AnthropicMessage, AnthropicUsage};
use crate::format::FormatEvent;
use serde::Serialize;
use utoipa::ToSchema;

/// An event of Anthropic's streams.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnthropicEvent {
    /// The answer begins.
    MessageStart {
        /// It, without anything in it.
        message: Box<AnthropicMessage>,
    },
    /// A block begins.
    ContentBlockStart {
        /// Which block, from 0.
        index: usize,
        /// It, without anything in it.
        content_block: AnthropicBlock,
    },
    /// A block goes on.
    ContentBlockDelta {
        /// Which block.
        index: usize,
        /// What is new.
        delta: BlockDelta,
    },
    /// A block is over.
    ContentBlockStop {
        /// Which block.
        index: usize,
    },
    /// How the answer ended.
    MessageDelta {
        /// Why.
        delta: StopDelta,
        /// What was spent.
        usage: AnthropicUsage,
    },
    /// The answer is over.
    MessageStop,
    /// The stream has been silent for a time.
    Ping,
    /// The turn failed.
    Error {
        /// What went wrong.
        error: AnthropicFailureDetails,
    },
}

/// What is new of a block.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::enum_variant_names,
    reason = "the protocol names them like this"
)]
pub enum BlockDelta {
    /// More text.
    TextDelta {
        /// The text.
        text: String,
    },
    /// More of what the model thinks.
    ThinkingDelta {
        /// The text.
        thinking: String,
    },
    /// What the model wants back of a thought.
    SignatureDelta {
        /// All of it.
        signature: String,
    },
    /// More of what a tool is called with.
    InputJsonDelta {
        /// A piece of JSON.
        partial_json: String,
    },
}

/// Why an answer ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct StopDelta {
    /// `end_turn`, `max_tokens`, `tool_use` or `refusal`.
    pub(super) stop_reason: &'static str,
    /// Nothing: which of the sequences it was is not known.
    stop_sequence: Option<String>,
}

impl StopDelta {
    pub(super) fn new(stop_reason: &'static str) -> Self {
        Self {
            stop_reason,
            stop_sequence: None,
        }
    }
}

impl AnthropicEvent {
    /// What stands in its `event:` line.
    fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Ping => "ping",
            Self::Error { .. } => "error",
        }
    }
}

impl From<AnthropicEvent> for FormatEvent {
    fn from(event: AnthropicEvent) -> Self {
        Self {
            name: Some(event.name()),
            // Only a map with keys that are no text could fail.
            data: serde_json::to_string(&event).unwrap_or_default(),
        }
    }
}
