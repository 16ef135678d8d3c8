//! An answer put together from its pieces, and the two shapes in which it goes on.

use super::{AnswerPiece, TokenUsage};
use ambit_storage::storage::UsageRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

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
    pub reasoning_parts: Vec<Value>,
    /// Calls of tools, in order; their ids differ from each other.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens of this call.
    pub usage: TokenUsage,
    /// Why it ended; empty until it has.
    pub finish_reason: String,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, if all went well.
    pub arguments: String,
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
        let detail = |details: &Map<String, Value>, name: &str| details.get(name)?.as_i64();
        (*usage != TokenUsage::default()).then(|| UsageRecord {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: Some(usage.total_tokens),
            cached_tokens: detail(&usage.prompt_tokens_details, "cached_tokens"),
            reasoning_tokens: detail(&usage.completion_tokens_details, "reasoning_tokens"),
            model_name: Some(self.model.clone()).filter(|model| !model.is_empty()),
            provider_name: Some(provider.to_owned()),
            ..UsageRecord::default()
        })
    }

    /// The message to put behind the others in the next call.
    pub fn message(&self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.content());
        if !self.tool_calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.calls());
        }
        if !self.refusal.is_empty() {
            message.insert("refusal".to_owned(), self.refusal.as_str().into());
        }
        if !self.reasoning.is_empty() {
            let reasoning = self.reasoning.as_str().into();
            message.insert("reasoning_content".to_owned(), reasoning);
        }
        if !self.reasoning_parts.is_empty() {
            let parts = self.reasoning_parts.clone().into();
            message.insert("reasoning_parts".to_owned(), parts);
        }
        Value::Object(message)
    }

    /// The `completion` that `Next` gets. `usage` is the turn's; `message_id` the shown text's, which can be amended.
    pub fn completion(&self, usage: &TokenUsage, message_id: Option<&str>) -> Value {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        json!({
            "id": self.id,
            "model": self.model,
            "role": "assistant",
            "content": self.content(),
            "tool_calls": (!self.tool_calls.is_empty()).then(|| self.calls()),
            "refusal": some(&self.refusal),
            "reasoning_content": some(&self.reasoning),
            "finish_reason": some(&self.finish_reason),
            "usage": usage,
            "message_id": message_id,
        })
    }

    /// The text; `null` where there are only calls or a refusal, as OpenAI has it.
    fn content(&self) -> Value {
        let has_other = !self.tool_calls.is_empty() || !self.refusal.is_empty();
        match self.text.as_str() {
            "" if has_other => Value::Null,
            text => text.into(),
        }
    }

    fn calls(&self) -> Value {
        let calls = self.tool_calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        });
        calls.collect()
    }
}
