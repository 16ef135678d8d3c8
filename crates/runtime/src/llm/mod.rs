//! Models: one trait, one table of providers. A provider speaks one protocol; a connector names one model behind it.

use crate::app::Connector;
use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Speaks one protocol to one model.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Starts one call. An error here or as the stream's first item means that nothing has been shown. A stream that ends
    /// without `Piece::End` is broken: the last item is then an error.
    async fn call(
        &self,
        call: &Call,
    ) -> Result<BoxStream<'static, Result<Piece, Failure>>, Failure>;
}

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Messages in the shape of OpenAI's chat messages, with `reasoning_content` and `reasoning_parts` of earlier answers.
    pub messages: Vec<Value>,
    /// Tools in OpenAI's shape: `{type:"function", function:{name, description, parameters}}`.
    pub tools: Vec<Value>,
    /// `temperature`, `max_tokens`, `stop`, `tool_choice`, `response_format`, `reasoning_effort` …
    pub options: Map<String, Value>,
}

/// One step of an answer, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The answer has begun; the provider's id and model, as far as known.
    Start {
        /// The provider's id of the answer.
        id: Option<String>,
        /// The model that answers.
        model: Option<String>,
    },
    /// Text.
    Text(String),
    /// Thinking that may be shown.
    Reasoning(String),
    /// A refusal's text.
    Refusal(String),
    /// A part that the provider wants back unchanged with the next call: a signature, an encrypted thought.
    ReasoningPart(Value),
    /// A tool call begins. `index` counts the calls of this answer from 0.
    ToolCall {
        /// Which call.
        index: usize,
        /// Its id; never empty.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments, as JSON text.
    Arguments {
        /// Which call.
        index: usize,
        /// The text.
        text: String,
    },
    /// Tokens used so far; the last one counts.
    Usage(Usage),
    /// The answer is whole.
    End {
        /// `stop`, `length`, `tool_calls` or `content_filter`.
        finish_reason: String,
    },
}

/// Tokens of one or more calls, in OpenAI's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: i64,
    /// Tokens of the answer.
    pub completion_tokens: i64,
    /// Tokens in all.
    pub total_tokens: i64,
    /// Of the request's: `cached_tokens` …
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub prompt_tokens_details: Map<String, Value>,
    /// Of the answer's: `reasoning_tokens` …
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub completion_tokens_details: Map<String, Value>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Whether the same call may succeed later.
    pub kind: FailureKind,
    /// What the provider said, without secrets.
    pub message: String,
    /// When to try again, if the provider said so.
    pub retry_after: Option<Duration>,
}

/// By meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Network, 408 or 5xx: may be tried again.
    Temporary,
    /// 429: may be tried again, later.
    RateLimited,
    /// The content was refused.
    ContentFilter,
    /// The call is wrong, or the key is: trying again does not help.
    Permanent,
    /// The stream broke off after it had begun, or a chunk could not be read.
    Broken,
}

/// Opens a provider for a connector.
pub type Open = fn(&Connector) -> Result<Box<dyn Provider>, Failure>;

/// A row of the table of providers.
pub struct Row {
    /// The connector's `type`.
    pub kind: &'static str,
    /// Opens it.
    pub open: Open,
}
