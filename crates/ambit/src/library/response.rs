//! What an agent answers.

use ambit_runtime::frame::OutputMessage;
use ambit_runtime::llm::TokenUsage;
use serde_json::Value;
use std::fmt;

/// The answer of a turn that has ended as it should.
#[derive(Clone, Debug)]
pub struct Response {
    /// What the agent said, in one text.
    pub text: String,
    /// What the model thought, where it tells.
    pub reasoning: String,
    /// The messages of the turn as they are shown, in order.
    pub messages: Vec<OutputMessage>,
    /// What the hook `Next` returned as data.
    pub next: Value,
    /// What the turn's model calls have used.
    pub usage: TokenUsage,
    /// Why the model ended: `stop`, `length` or `content_filter`.
    pub finish_reason: &'static str,
    /// The turn, by which its stream and its trace are found.
    pub request_id: String,
    /// The chat's name; empty in a user's default conversation.
    pub chat_id: String,
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
