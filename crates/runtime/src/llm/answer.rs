//! An answer put together from its pieces, and the two shapes in which it goes on.

use super::{AnswerPiece, TokenUsage};
use crate::chat::{ChatContent, ChatMessage, ReasoningPart, ToolCall};
use ambit_storage::storage::UsageRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a model has answered so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The provider's id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// The text.
    pub text: String,
    /// The thinking that may be shown.
    pub reasoning: String,
    /// A refusal's text.
    pub refusal: String,
    /// What the provider wants back with the next call, unchanged.
    pub reasoning_parts: Vec<ReasoningPart>,
    /// Calls of tools, in order; their ids differ from each other.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens of this call.
    pub usage: TokenUsage,
    /// Why it ended; empty until it has.
    pub finish_reason: String,
}

/// An answer as `Next` and scripts get it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCompletion {
    /// The provider's id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// The text.
    pub content: ChatContent,
    /// Calls of tools.
    pub tool_calls: Vec<ToolCall>,
    /// A refusal's text.
    pub refusal: String,
    /// The thinking that may be shown.
    pub reasoning_content: String,
    /// Why it ended.
    pub finish_reason: String,
    /// Tokens of the turn.
    pub usage: TokenUsage,
    /// The shown text, which can be amended.
    pub message_id: Option<String>,
}

impl ModelAnswer {
    /// Takes the next piece.
    pub fn take(&mut self, piece: &AnswerPiece) {
        match piece {
            AnswerPiece::Start { id, model } => {
                self.id = id.clone().unwrap_or_default();
                self.model = model.clone().unwrap_or_default();
            }
            AnswerPiece::Text(text) => self.text.push_str(text),
            AnswerPiece::Reasoning(text) => self.reasoning.push_str(text),
            AnswerPiece::Refusal(text) => self.refusal.push_str(text),
            AnswerPiece::ReasoningPart(part) => self.reasoning_parts.push(part.clone()),
            AnswerPiece::ToolCall { index, id, name } => {
                if let Some(call) = self.call(*index) {
                    id.clone_into(&mut call.id);
                    name.clone_into(&mut call.name);
                }
            }
            AnswerPiece::Arguments { index, text } => {
                if let Some(call) = self.call(*index) {
                    call.arguments.push_str(text);
                }
            }
            AnswerPiece::Usage(usage) => self.usage = usage.counted(),
            AnswerPiece::End { finish_reason } => finish_reason.clone_into(&mut self.finish_reason),
        }
    }

    /// Calls come in order, so a place is either taken or the next one.
    fn call(&mut self, index: usize) -> Option<&mut ToolCall> {
        if index == self.tool_calls.len() {
            self.tool_calls.push(ToolCall::default());
        }
        self.tool_calls.get_mut(index)
    }

    /// What the call used, to be booked; nothing where the provider did not say.
    pub fn record(&self, provider: &str) -> Option<UsageRecord> {
        let usage = &self.usage;
        (*usage != TokenUsage::default()).then(|| UsageRecord {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: Some(usage.total_tokens),
            cached_tokens: usage.cached_tokens(),
            reasoning_tokens: usage.reasoning_tokens(),
            model_name: Some(self.model.clone()).filter(|model| !model.is_empty()),
            provider_name: Some(provider.to_owned()),
            ..UsageRecord::default()
        })
    }

    /// The message to put behind the others in the next call.
    pub fn message(&self) -> ChatMessage {
        ChatMessage {
            tool_calls: self.tool_calls.clone(),
            refusal: some(&self.refusal),
            reasoning_content: some(&self.reasoning),
            reasoning_parts: self.reasoning_parts.clone(),
            ..ChatMessage::assistant(self.content())
        }
    }

    /// The `completion` that `Next` gets. `usage` is the turn's; `message_id` the shown text's, which can be amended.
    pub fn completion(&self, usage: &TokenUsage, message_id: Option<&str>) -> ModelCompletion {
        ModelCompletion {
            id: self.id.clone(),
            model: self.model.clone(),
            content: self.content(),
            tool_calls: self.tool_calls.clone(),
            refusal: self.refusal.clone(),
            reasoning_content: self.reasoning.clone(),
            finish_reason: self.finish_reason.clone(),
            usage: usage.clone(),
            message_id: message_id.map(str::to_owned),
        }
    }

    /// The text; `null` where there are only calls or a refusal, as OpenAI has it.
    fn content(&self) -> ChatContent {
        let has_other = !self.tool_calls.is_empty() || !self.refusal.is_empty();
        match self.text.as_str() {
            "" if has_other => ChatContent::Null,
            text => text.into(),
        }
    }
}

impl ModelCompletion {
    /// The text that a client reads.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            ChatContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As scripts see it.
    pub fn to_json(&self) -> Value {
        let calls = self.tool_calls.iter().map(ToolCall::to_message);
        let calls: Vec<Value> = calls.collect();
        json!({
            "id": self.id,
            "model": self.model,
            "role": "assistant",
            "content": self.content,
            "tool_calls": (!calls.is_empty()).then_some(calls),
            "refusal": some(&self.refusal),
            "reasoning_content": some(&self.reasoning_content),
            "finish_reason": some(&self.finish_reason),
            "usage": self.usage,
            "message_id": self.message_id,
        })
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
