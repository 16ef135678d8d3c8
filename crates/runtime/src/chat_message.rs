//! Messages in two shapes: as they are stored, and as models and scripts know them (OpenAI's chat messages).

use crate::chat::{ChatContent, ChatMessage, ContentPart, ToolCall};
use crate::error::Result;
use crate::value_text::value_text;
use ambit_storage::storage::{self, Message, Role, ToolResult};
use serde_json::{Map, Value, json};

/// Fields that stored messages have under the same name.
const FIELDS: [&str; 4] = ["name", "refusal", "reasoning_content", "reasoning_parts"];
/// Kinds of shown messages that are no history for a model.
const NOT_FOR_MODELS: [&str; 6] = [
    "loading",
    "event",
    "action",
    "error",
    "thinking",
    "tool_call",
];

/// The message for a model or a script; `None` where it is only for show.
pub fn to_chat(message: &Message) -> Option<ChatMessage> {
    let kind = message.extras.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| NOT_FOR_MODELS.contains(&kind)) {
        return None;
    }
    let mut chat = ChatMessage {
        tool_calls: message.tool_calls.iter().map(call_to_chat).collect(),
        tool_call_id: message
            .tool_result
            .as_ref()
            .map(|result| result.call_id.clone()),
        ..ChatMessage::new(message.role, content(message)?)
    };
    for name in FIELDS {
        if let Some(value) = message.extras.get(name) {
            chat.set(name, value.clone());
        }
    }
    Some(chat)
}

/// What a message says: text where it is all text, else its parts. `None` where there is nothing that a model could use.
fn content(message: &Message) -> Option<ChatContent> {
    if let Some(result) = &message.tool_result {
        return Some(value_text(&result.content).into());
    }
    let is_text = |part: &Value| part.get("type").and_then(Value::as_str) == Some("text");
    if !message.parts.iter().all(is_text) {
        let parts = message.parts.iter().cloned().map(ContentPart::from);
        return Some(ChatContent::Parts(parts.collect()));
    }
    let text = message.text();
    if !text.is_empty() {
        return Some(text.into());
    }
    if let Some(text) = message
        .extras
        .get("props")
        .and_then(|props| props.get("content"))
    {
        return text.as_str().map(ChatContent::from);
    }
    let has_more = !message.tool_calls.is_empty() || message.extras.contains_key("refusal");
    let is_shown = message.extras.contains_key("message_id");
    match (has_more, is_shown && message.role == Role::Assistant) {
        (true, _) => Some(ChatContent::Null),
        (false, true) => None,
        (false, false) => Some("".into()),
    }
}

fn call_to_chat(call: &storage::ToolCall) -> ToolCall {
    ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: value_text(&call.arguments),
        extra: Map::new(),
    }
}

/// The message as it is stored; `place` names it in errors, as in `messages[2]`.
pub fn from_chat(place: &str, chat: &ChatMessage) -> Result<Message> {
    chat.check(place)?;
    let mut message = Message::new(chat.role, "");
    message.parts = match &chat.content {
        ChatContent::Absent | ChatContent::Null => Vec::new(),
        ChatContent::Text(text) => vec![json!({"type": "text", "text": text})],
        ChatContent::Parts(parts) => parts.iter().map(ContentPart::to_json).collect(),
    };
    let calls = chat.tool_calls.iter();
    let calls =
        calls.map(|call| storage::ToolCall::new(&call.id, &call.name, call.arguments.clone()));
    message.tool_calls = calls.collect();
    if let Some(client) = &chat.client {
        message.extras.insert("client".to_owned(), json!(client));
    }
    if chat.role == Role::Tool {
        message.tool_result = Some(result_from_chat(chat, &message));
        message.parts.clear();
    }
    for (name, text) in [
        ("name", &chat.name),
        ("refusal", &chat.refusal),
        ("reasoning_content", &chat.reasoning_content),
    ] {
        if let Some(text) = text {
            message.extras.insert(name.to_owned(), text.as_str().into());
        }
    }
    if !chat.reasoning_parts.is_empty() {
        let parts = json!(chat.reasoning_parts);
        message.extras.insert("reasoning_parts".to_owned(), parts);
    }
    for name in FIELDS {
        if let Some(value) = chat.extra.get(name).filter(|value| !value.is_null()) {
            message.extras.insert(name.to_owned(), value.clone());
        }
    }
    Ok(message)
}

fn result_from_chat(chat: &ChatMessage, message: &Message) -> ToolResult {
    let content = match message.parts.as_slice() {
        [] => Value::String(String::new()),
        parts if parts.iter().all(|part| part.get("text").is_some()) => message.text().into(),
        parts => parts.to_vec().into(),
    };
    ToolResult {
        call_id: chat.tool_call_id.clone().unwrap_or_default(),
        name: chat.name.clone(),
        content,
        is_error: chat.client.as_ref().is_some_and(|client| client.is_error),
        extras: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let chats = [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}),
            json!({"role": "tool", "content": "done", "tool_call_id": "c1"}),
            json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}], "name": "ann"}),
        ];
        for chat in chats {
            let chat = ChatMessage::read("messages[0]", chat).unwrap();
            let message = from_chat("messages[0]", &chat).unwrap();
            assert_eq!(to_chat(&message), Some(chat));
        }
    }
}
