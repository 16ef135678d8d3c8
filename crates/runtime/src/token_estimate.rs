//! About how many tokens something has for a model.

use crate::chat::{ChatContent, ChatMessage, Role, ToolDefinition};
use crate::chat_message;
use ambit_storage::storage::Message;
use ambit_storage::truncation::{estimate, estimate_text_message};
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
    if let Some(text) = only_text(chat) {
        return estimate_text_message(text);
    }
    match chat_message::from_chat("messages", chat) {
        Ok(message) => estimate(&message),
        Err(_) => of_json(&chat.to_json()),
    }
}

/// The text of a message that is a text and nothing else, as most are: it is counted without making a stored message of it.
fn only_text(chat: &ChatMessage) -> Option<&str> {
    let ChatMessage {
        content: ChatContent::Text(text),
        name: None,
        refusal: None,
        reasoning_content: None,
        client: None,
        ..
    } = chat
    else {
        return None;
    };
    let is_all = chat.role != Role::Tool
        && chat.tool_calls.is_empty()
        && chat.reasoning_parts.is_empty()
        && chat.extra.is_empty();
    is_all.then_some(text.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_tokens_of_the_message_that_is_stored_of_it() {
        let named = ChatMessage {
            name: Some("ann".to_owned()),
            ..ChatMessage::user("hi")
        };
        let texts = ["", "What is the price?", "它多少钱？"].map(ChatMessage::user);
        let others = [ChatMessage::result("c1", "5"), named];
        for chat in texts.iter().chain(&others) {
            let stored = chat_message::from_chat("messages", chat).unwrap();
            assert_eq!(of_message(chat), estimate(&stored), "{chat:?}");
        }
    }
}
