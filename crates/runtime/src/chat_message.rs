//! Messages in two shapes: as they are stored, and as models and scripts know them (OpenAI's chat messages).

use crate::chat::{
    BlockKind, BlockSource, ChatContent, ChatMessage, ContentPart, MessageOrigin, ToolCall,
};
use crate::error::Result;
use crate::value_text::value_text;
use ambit_storage::storage::{self, Message, Role, ToolResult};
use ambit_storage::truncation::{STANDS_FOR, made_from};
use serde_json::{Map, Value, json};

/// Fields that stored messages have under the same name.
const FIELDS: [&str; 4] = ["name", "refusal", "reasoning_content", "reasoning_parts"];
/// What a result has that stands for one that is missing.
const SYNTHETIC: &str = "synthetic";
/// The field of a stored result that says how many bytes of it models are not told.
pub const CUT: &str = "cut";
/// Kinds of shown messages that are no history for a model.
const NOT_FOR_MODELS: [&str; 6] = [
    "loading",
    "event",
    "action",
    "error",
    "thinking",
    "tool_call",
];

/// Whether there is anything in a message for a model or a script; else it was erased, or is only for show.
pub fn is_for_models(message: &Message) -> bool {
    let kind = message.extras.get("type").and_then(Value::as_str);
    if message.is_erased() || kind.is_some_and(|kind| NOT_FOR_MODELS.contains(&kind)) {
        return false;
    }
    let text = |part: &Value| part.get("text")?.as_str().map(str::len);
    let says = |part: &Value| !is_text(part) || text(part).is_some_and(|length| length > 0);
    if message.tool_result.is_some() || message.parts.iter().any(says) {
        return true;
    }
    if let Some(shown) = shown_content(message) {
        return shown.is_string();
    }
    let is_shown = message.extras.contains_key("message_id");
    has_more(message) || !is_shown || message.role != Role::Assistant
}

/// The message for a model or a script; `None` where it is only for show.
pub fn to_chat(message: &Message) -> Option<ChatMessage> {
    if !is_for_models(message) {
        return None;
    }
    let mut chat = ChatMessage {
        tool_calls: message.tool_calls.iter().map(call_to_chat).collect(),
        tool_call_id: message
            .tool_result
            .as_ref()
            .map(|result| result.call_id.clone()),
        ..ChatMessage::new(message.role, content(message))
    };
    for name in FIELDS {
        if let Some(value) = message.extras.get(name) {
            chat.set(name, value.clone());
        }
    }
    chat.origin = origin(message);
    Some(chat)
}

/// What a stored message is to a model. One without an id is not stored yet.
fn origin(message: &Message) -> MessageOrigin {
    let id = Some(message.id.clone()).filter(|id| !id.is_empty());
    if let Some(record) = message.extras.get(STANDS_FOR) {
        let source = BlockSource {
            overlay_id: id,
            ..summary_source(record)
        };
        return MessageOrigin::new(BlockKind::Summary, source);
    }
    let result = message.tool_result.as_ref();
    let mut source = BlockSource {
        tool_call_id: result.map(|result| result.call_id.clone()),
        ..BlockSource::default()
    };
    if message.extras.contains_key(SYNTHETIC) {
        source.reason = result.map(|result| value_text(&result.content));
        return MessageOrigin::new(BlockKind::Synthetic, source);
    }
    let kind = match id {
        Some(_) => BlockKind::History,
        None => BlockKind::Request,
    };
    source.message_id = id;
    let mut origin = MessageOrigin::stored(kind, source, message.turn_id.clone());
    let client = message.extras.get("client");
    let is_item = client.is_some_and(|client| client.get("item").is_some());
    // Items of one answer, as clients send them, are one message to a model.
    origin.is_changed = is_item && message.role == Role::Assistant;
    let cut = result.and_then(|result| result.extras.get(CUT)?.as_u64());
    origin.cut_result(cut.and_then(|cut| cut.try_into().ok()).unwrap_or(0));
    origin
}

/// What a summary was made of, as its record says it.
fn summary_source(record: &Value) -> BlockSource {
    let ranges = made_from(record);
    let lengths = ranges.iter();
    let lengths = lengths.map(|(first, last)| (last + 1).saturating_sub(*first));
    BlockSource {
        strategy: record
            .get("strategy")
            .and_then(Value::as_str)
            .map(str::to_owned),
        first: ranges.first().map(|(first, _)| *first),
        last: ranges.last().map(|(_, last)| *last),
        count: Some(lengths.sum()),
        ..BlockSource::default()
    }
}

/// What a message says: text where it is all text, else its parts.
fn content(message: &Message) -> ChatContent {
    if let Some(result) = &message.tool_result {
        return value_text(&result.content).into();
    }
    if !message.parts.iter().all(is_text) {
        let parts = message.parts.iter().cloned().map(ContentPart::from);
        return ChatContent::Parts(parts.collect());
    }
    let text = message.text();
    if !text.is_empty() {
        return text.into();
    }
    match shown_content(message).and_then(Value::as_str) {
        Some(text) => text.into(),
        None if has_more(message) => ChatContent::Null,
        None => "".into(),
    }
}

fn is_text(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("text")
}

/// What was shown of a message that has no text of its own.
fn shown_content(message: &Message) -> Option<&Value> {
    message.extras.get("props")?.get("content")
}

/// Whether a message without text is something to a model.
fn has_more(message: &Message) -> bool {
    !message.tool_calls.is_empty() || message.extras.contains_key("refusal")
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
    fn g190_a_summary_says_what_it_was_made_of() {
        let mut summary = Message::user("Earlier");
        summary.id = "s1".to_owned();
        let record = json!({"strategy": "summarise", "made_from": [[1, 4], [7, 9]]});
        summary.extras.insert(STANDS_FOR.to_owned(), record);
        let origin = to_chat(&summary).unwrap().origin;
        assert_eq!(origin.kind(), Some(BlockKind::Summary));
        let source =
            json!({"overlay_id": "s1", "strategy": "summarise", "first": 1, "last": 9, "count": 7});
        assert_eq!(json!(origin.source()), source);
    }

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
