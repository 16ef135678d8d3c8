//! About how many tokens something has for a model.

use crate::chat::{ChatMessage, Role, ToolDefinition};
use crate::chat_message;
use ambit_storage::storage::Message;
use ambit_storage::truncation::estimate;
use serde_json::{Value, json};

/// Tokens of messages as models know them, about.
pub(crate) fn tokens(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(of_message).sum()
}

/// Tokens of a message as models know it, about.
pub(crate) fn of_message(chat: &ChatMessage) -> u64 {
    if let Some(known) = chat.origin.measure() {
        return known.tokens;
    }
    match chat_message::from_chat("messages", chat) {
        Ok(message) => estimate(&message),
        Err(_) => of_json(&chat.to_json()),
    }
}

/// Tokens of tools as models are told of them, about.
pub(crate) fn of_tools(tools: &[ToolDefinition]) -> u64 {
    match tools {
        [] => 0,
        tools => of_json(&json!(tools)),
    }
}

fn of_json(value: &Value) -> u64 {
    let mut message = Message::new(Role::System, "");
    message.extras.insert("value".to_owned(), value.clone());
    estimate(&message)
}
