//! The body of a request, in Anthropic's shape.

use crate::http::chat::Between;
use crate::http::input::{BodyFields, TextOrObjects};
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a client asks.
#[derive(Default, Deserialize, ToSchema)]
pub struct AnthropicBody {
    /// An agent's id; or a connector, if the app has a default agent that lets clients choose.
    pub model: Option<String>,
    /// The whole conversation.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<InputMessage>,
    /// Instructions: a text, or blocks of text.
    #[schema(value_type = Option<TextOrObjects>)]
    pub system: Option<InputContent>,
    /// At most so many tokens.
    #[schema(minimum = 1)]
    pub max_tokens: Option<i64>,
    /// How much chance there is in the answer.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1)]
    pub temperature: Option<Between<0, 1>>,
    /// How much of what is probable is considered.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1)]
    pub top_p: Option<Between<0, 1>>,
    /// Texts at which the answer ends.
    pub stop_sequences: Option<Vec<String>>,
    /// Whether the answer is a stream.
    pub stream: Option<bool>,
    /// Tools that the client runs.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<InputTool>>,
    /// Whether a tool is called, and which.
    pub tool_choice: Option<InputToolChoice>,
    /// Whether thoughts are shown.
    pub thinking: Option<InputThinking>,
    /// How the answer is to be.
    pub output_config: Option<OutputConfig>,
}

impl BodyFields for AnthropicBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        if self.messages.is_empty() {
            let message = "messages must hold at least one message";
            return Err(Error::invalid("messages", message));
        }
        if self.max_tokens.is_some_and(|count| count < 1) {
            return Err(Error::invalid(
                "max_tokens",
                "max_tokens must be at least 1",
            ));
        }
        Ok(())
    }
}

/// A message of the conversation.
#[derive(Deserialize)]
pub struct InputMessage {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// What it says.
    pub content: InputContent,
}

/// What a message, a result of a tool or a document says: a text, or blocks.
pub enum InputContent {
    /// A text.
    Text(String),
    /// Blocks, each read where its place is known.
    Blocks(Vec<Value>),
}

impl<'de> Deserialize<'de> for InputContent {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Value::deserialize(reader)? {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(blocks) => Ok(Self::Blocks(blocks)),
            _ => Err(D::Error::custom("must be a string or a list of blocks")),
        }
    }
}

/// A tool.
#[derive(Deserialize)]
pub struct InputTool {
    /// `custom`, as without it; others are Anthropic's own.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of what it is called with.
    pub input_schema: Option<Map<String, Value>>,
}

/// Whether a tool is called, and which.
#[derive(Deserialize, ToSchema)]
pub struct InputToolChoice {
    /// `auto`, `any`, `tool` or `none`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool, with `tool`.
    pub name: Option<String>,
    /// At most one tool is called at once.
    pub disable_parallel_tool_use: Option<bool>,
}

/// Whether thoughts are shown.
#[derive(Deserialize, ToSchema)]
pub struct InputThinking {
    /// `disabled` leaves them out; all else shows them.
    #[serde(rename = "type")]
    pub kind: String,
}

/// How the answer is to be.
#[derive(Deserialize, ToSchema)]
pub struct OutputConfig {
    /// How much the model thinks: `low`, `medium`, `high` …
    pub effort: Option<String>,
}
