//! The pieces in which an answer is streamed.

use crate::format::answer::{AnswerField, AnswerPart, ToolCallDelta};
use ambit_runtime::llm::TokenUsage;
use serde::Serialize;
use utoipa::ToSchema;

/// A piece of an answer, as OpenAI streams it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompletionChunk {
    /// Of the turn.
    pub id: String,
    /// `chat.completion.chunk`.
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The agent.
    pub model: String,
    /// The one answer; none beside the usage.
    pub choices: Vec<ChunkChoice>,
    /// What was spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
}

/// A piece of the one answer.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ChunkChoice {
    /// 0.
    index: u64,
    delta: ChunkDelta,
    /// Why the answer ended: `stop`, `length`, `content_filter` or `tool_calls`.
    finish_reason: Option<&'static str>,
}

/// What a piece adds.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ChunkDelta {
    /// `assistant`, at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// More text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// More of what the model thinks, as far as it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    /// More of a call of a tool that the client runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCallDelta>,
}

impl From<AnswerPart> for ChunkChoice {
    fn from(part: AnswerPart) -> Self {
        let mut choice = Self::default();
        let delta = &mut choice.delta;
        match part {
            AnswerPart::Start => {
                delta.role = Some("assistant");
                delta.content = Some(String::new());
            }
            AnswerPart::Text(AnswerField::Content, text) => delta.content = Some(text),
            AnswerPart::Text(AnswerField::Reasoning, text) => {
                delta.reasoning_content = Some(text);
            }
            AnswerPart::ToolCall(call) => delta.tool_calls.push(call),
            AnswerPart::End(ending) => choice.finish_reason = Some(ending.finish_reason),
        }
        choice
    }
}
