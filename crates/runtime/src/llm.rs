//! Models: one trait, one table of providers. A provider speaks one protocol; a connector names one model behind it.

pub mod answer;
mod anthropic;
pub mod capabilities;
pub mod connector;
pub mod embedding;
pub(crate) mod endpoint;
mod failure;
mod failure_log;
#[cfg(test)]
mod fuzz;
mod gemini;
pub(crate) mod media;
mod ollama;
mod openai;
mod provider_cache;
pub mod reasoning_parts;
pub mod retry;
mod scripted;
mod secrets;
pub(crate) mod sse;
mod stream;
mod tool_call_pairing;

pub use answer::{ModelAnswer, ModelCompletion};
pub use capabilities::ModelCapabilities;
pub use connector::Connector;
pub use failure::{ModelFailure, ModelFailureKind};
pub(crate) use failure_log::{FailureLog, LoggedFailure};
pub use provider_cache::ProviderCache;
pub(crate) use secrets::Secrets;

pub use crate::chat::ModelCall;
use crate::chat::ReasoningPart;
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// The steps of one answer. The last one is `AnswerPiece::End` or an error; nothing follows it.
pub type AnswerStream = BoxStream<'static, Result<AnswerPiece, ModelFailure>>;

/// Speaks one protocol to one model.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Writes a call in the protocol's bytes, of its messages, tools and options and of nothing else but the connector.
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure>;

    /// Sends a call that `encode` has written. An error here or as the stream's first item means that nothing has been shown. A
    /// stream that ends without `AnswerPiece::End` is broken: the last item is then an error. Dropping the stream ends the call.
    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure>;
}

/// A call as its provider gets it.
#[derive(Clone, Debug)]
pub struct EncodedCall<'a> {
    /// The call.
    pub call: &'a ModelCall,
    /// The body of the request.
    pub bytes: Bytes,
    /// What has written it, and the version of that: another version may write the same call otherwise.
    pub encoder: &'static str,
    /// Options of the body that may be neither the call's nor the connector's.
    pub added: Vec<(&'static str, Value)>,
}

/// What a connector's `type` may be. One file and one row each.
pub const PROVIDERS: &[ProviderEntry] = &[
    openai::ROW,
    anthropic::ROW,
    gemini::ROW,
    ollama::ROW,
    scripted::ROW,
];

/// One step of an answer, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPiece {
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
    ReasoningPart(ReasoningPart),
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
    Usage(TokenUsage),
    /// The answer is whole.
    End {
        /// `stop`, `length`, `tool_calls` or `content_filter`.
        finish_reason: String,
    },
}

/// Tokens of one or more calls, in OpenAI's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
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

impl AnswerPiece {
    /// Whether a reader sees something of it, so that the call cannot be made again unseen.
    pub fn shows(&self) -> bool {
        match self {
            Self::Text(_)
            | Self::Reasoning(_)
            | Self::Refusal(_)
            | Self::ToolCall { .. }
            | Self::Arguments { .. } => true,
            Self::Start { .. } | Self::ReasoningPart(_) | Self::Usage(_) | Self::End { .. } => {
                false
            }
        }
    }
}

/// What was used of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Who offers the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much.
    pub usage: TokenUsage,
}

impl TokenUsage {
    /// This many tokens of the request and of the answer.
    pub fn of(prompt: i64, completion: i64) -> Self {
        Self {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt.saturating_add(completion),
            ..Self::default()
        }
    }

    /// Tokens of the request that the provider had in its cache, where it says.
    pub fn cached_tokens(&self) -> Option<i64> {
        self.prompt_tokens_details.get("cached_tokens")?.as_i64()
    }

    /// Tokens of the request that the provider has put into its cache, where it says.
    pub fn cache_creation_tokens(&self) -> Option<i64> {
        let details = &self.prompt_tokens_details;
        details.get("cache_creation_tokens")?.as_i64()
    }

    /// Tokens of the answer that were thought and not said, where the provider says.
    pub fn reasoning_tokens(&self) -> Option<i64> {
        let details = &self.completion_tokens_details;
        details.get("reasoning_tokens")?.as_i64()
    }

    /// The same without what cannot be: fewer than no tokens.
    pub fn counted(&self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.max(0),
            completion_tokens: self.completion_tokens.max(0),
            total_tokens: self.total_tokens.max(0),
            ..self.clone()
        }
    }

    /// What there is beside what was counted before.
    #[must_use]
    pub fn without(&self, counted: &Self) -> Self {
        let rest = |all: i64, counted: i64| all.saturating_sub(counted).max(0);
        let details = |all: &Map<String, Value>, counted: &Map<String, Value>| {
            let counts = all.iter().filter_map(|(name, value)| {
                let before = counted.get(name).and_then(Value::as_i64).unwrap_or(0);
                let left = rest(value.as_i64()?, before);
                (left > 0).then(|| (name.clone(), left.into()))
            });
            counts.collect()
        };
        Self {
            prompt_tokens: rest(self.prompt_tokens, counted.prompt_tokens),
            completion_tokens: rest(self.completion_tokens, counted.completion_tokens),
            total_tokens: rest(self.total_tokens, counted.total_tokens),
            prompt_tokens_details: details(
                &self.prompt_tokens_details,
                &counted.prompt_tokens_details,
            ),
            completion_tokens_details: details(
                &self.completion_tokens_details,
                &counted.completion_tokens_details,
            ),
        }
    }

    /// Counts another call's tokens too.
    pub fn add(&mut self, other: &Self) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(other.completion_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        add_details(
            &mut self.prompt_tokens_details,
            &other.prompt_tokens_details,
        );
        add_details(
            &mut self.completion_tokens_details,
            &other.completion_tokens_details,
        );
    }
}

fn add_details(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        let Some(count) = value.as_i64() else {
            continue;
        };
        let before = all.get(name).and_then(Value::as_i64).unwrap_or(0);
        all.insert(name.clone(), before.saturating_add(count).into());
    }
}

/// Opens a provider for a connector.
pub type ProviderOpener =
    fn(&Connector, &endpoint::ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure>;

/// A row of the table of providers.
pub struct ProviderEntry {
    /// The connector's `type`.
    pub kind: &'static str,
    /// Opens it.
    pub open: ProviderOpener,
    /// The parts of messages that it takes by an address of the web, as OpenAI calls them.
    pub by_address: &'static [&'static str],
    /// The options of calls that it sends; all where it says nothing.
    pub options: Option<&'static [&'static str]>,
}

/// Whether a connector's provider sends an option of calls.
pub(crate) fn sends_option(connector: &Connector, name: &str) -> bool {
    let row = PROVIDERS.iter().find(|row| row.kind == connector.kind);
    let options = row.and_then(|row| row.options);
    options.is_none_or(|options| options.contains(&name))
}

/// Whether a connector's provider takes parts of this type by an address of the web.
pub(crate) fn takes_address(connector: &Connector, part: &str) -> bool {
    let mut rows = PROVIDERS.iter();
    let row = rows.find(|row| row.kind == connector.kind);
    row.is_none_or(|row| row.by_address.contains(&part))
}
