//! The answer as a client holds it: a message of blocks.

use super::event::{AnthropicEvent, BlockDelta};
use crate::format::FormatOptions;
use ambit_runtime::llm::TokenUsage;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A message of the assistant.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnthropicMessage {
    /// Of the turn.
    id: String,
    /// `message`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// `assistant`.
    role: &'static str,
    /// The agent.
    model: String,
    /// The blocks, in order; none where a stream begins.
    content: Vec<AnthropicBlock>,
    /// Why it ended: `end_turn`, `max_tokens`, `tool_use` or `refusal`.
    stop_reason: Option<&'static str>,
    /// Nothing: which of the sequences it was is not known.
    stop_sequence: Option<String>,
    /// What was spent.
    usage: AnthropicUsage,
}

/// A block of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnthropicBlock {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought, as far as it is shown.
    Thinking {
        /// The text.
        thinking: String,
        /// What the model wants back of it, for Ambit alone; empty where that is nothing.
        signature: String,
    },
    /// A call of a tool that the client runs.
    ToolUse {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with.
        #[schema(value_type = Object)]
        input: Map<String, Value>,
    },
}

/// What was spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct AnthropicUsage {
    /// Tokens of the request that are in neither of the next two.
    input_tokens: i64,
    /// Tokens that the provider has put into its cache.
    cache_creation_input_tokens: i64,
    /// Tokens that the provider had in its cache.
    cache_read_input_tokens: i64,
    /// Tokens of the answer.
    output_tokens: i64,
}

impl From<&TokenUsage> for AnthropicUsage {
    fn from(usage: &TokenUsage) -> Self {
        let read = usage.cached_tokens().unwrap_or(0);
        let made = usage.cache_creation_tokens().unwrap_or(0);
        let rest = usage
            .prompt_tokens
            .saturating_sub(read)
            .saturating_sub(made);
        Self {
            input_tokens: rest.max(0),
            cache_creation_input_tokens: made,
            cache_read_input_tokens: read,
            output_tokens: usage.completion_tokens,
        }
    }
}

impl AnthropicMessage {
    /// An answer that begins.
    pub(super) fn begin(options: &FormatOptions) -> Self {
        Self {
            id: format!("msg_{}", options.request_id),
            kind: "message",
            role: "assistant",
            model: options.model.clone(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: AnthropicUsage::default(),
        }
    }

    /// The same with what events add to it.
    pub(super) fn with(mut self, events: Vec<AnthropicEvent>) -> Self {
        let mut arguments = String::new();
        for event in events {
            match event {
                AnthropicEvent::ContentBlockStart { content_block, .. } => {
                    self.content.push(content_block);
                }
                AnthropicEvent::ContentBlockDelta { delta, .. } => {
                    if let Some(block) = self.content.last_mut() {
                        block.push(delta, &mut arguments);
                    }
                }
                AnthropicEvent::ContentBlockStop { .. } => {
                    if let Some(AnthropicBlock::ToolUse { input, .. }) = self.content.last_mut() {
                        *input = object(&std::mem::take(&mut arguments));
                    }
                }
                AnthropicEvent::MessageDelta { delta, usage } => {
                    self.stop_reason = Some(delta.stop_reason);
                    self.usage = usage;
                }
                AnthropicEvent::MessageStart { .. }
                | AnthropicEvent::MessageStop
                | AnthropicEvent::Ping
                | AnthropicEvent::Error { .. } => {}
            }
        }
        self
    }
}

impl AnthropicBlock {
    /// Takes in more of itself; `arguments` are those of a call so far.
    fn push(&mut self, delta: BlockDelta, arguments: &mut String) {
        match (self, delta) {
            (Self::Text { text }, BlockDelta::TextDelta { text: more }) => text.push_str(&more),
            (Self::Thinking { thinking, .. }, BlockDelta::ThinkingDelta { thinking: more }) => {
                thinking.push_str(&more);
            }
            (Self::Thinking { signature, .. }, BlockDelta::SignatureDelta { signature: whole }) => {
                *signature = whole;
            }
            (Self::ToolUse { .. }, BlockDelta::InputJsonDelta { partial_json }) => {
                arguments.push_str(&partial_json);
            }
            _ => {}
        }
    }
}

/// What a call gives its tool, in the only shape that there is: what is no object is one of a text.
fn object(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("arguments".to_owned(), arguments.into())]),
    }
}
