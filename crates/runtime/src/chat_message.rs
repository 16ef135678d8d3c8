//! Messages in two shapes: as they are stored, and as models and scripts know them (OpenAI's chat messages).

use crate::error::{Error, Result};
use crate::value_text::value_text;
use ambit_storage::storage::{Message, Role, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

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
pub fn to_chat(message: &Message) -> Option<Value> {
    let kind = message.extras.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| NOT_FOR_MODELS.contains(&kind)) {
        return None;
    }
    let mut chat = Map::new();
    chat.insert("role".to_owned(), json!(message.role));
    chat.insert("content".to_owned(), content(message)?);
    if !message.tool_calls.is_empty() {
        let calls: Vec<Value> = message.tool_calls.iter().map(call_to_chat).collect();
        chat.insert("tool_calls".to_owned(), calls.into());
    }
    if let Some(result) = &message.tool_result {
        chat.insert("tool_call_id".to_owned(), result.call_id.clone().into());
    }
    for name in ["name", "refusal", "reasoning_content", "reasoning_parts"] {
        if let Some(value) = message.extras.get(name) {
            chat.insert(name.to_owned(), value.clone());
        }
    }
    Some(Value::Object(chat))
}

/// What a message says: text where it is all text, else its parts. `None` where there is nothing that a model could use.
fn content(message: &Message) -> Option<Value> {
    if let Some(result) = &message.tool_result {
        return Some(value_text(&result.content).into());
    }
    let is_text = |part: &Value| part.get("type").and_then(Value::as_str) == Some("text");
    if message.parts.iter().all(is_text) {
        let text = message.text();
        if !text.is_empty() {
            return Some(text.into());
        }
        if let Some(text) = message
            .extras
            .get("props")
            .and_then(|props| props.get("content"))
        {
            return text.as_str().map(Value::from);
        }
        let has_more = !message.tool_calls.is_empty() || message.extras.contains_key("refusal");
        let is_shown = message.extras.contains_key("message_id");
        return match (has_more, is_shown && message.role == Role::Assistant) {
            (true, _) => Some(Value::Null),
            (false, true) => None,
            (false, false) => Some("".into()),
        };
    }
    Some(message.parts.clone().into())
}

fn call_to_chat(call: &ToolCall) -> Value {
    let arguments = value_text(&call.arguments);
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// The message as it is stored; `at` names it in errors, as in `messages[2]`.
pub fn from_chat(at: &str, chat: &Value) -> Result<Message> {
    let wrong = |field: &str, reason: &str| {
        let param = match field {
            "" => at.to_owned(),
            field => format!("{at}.{field}"),
        };
        Error::invalid(param.clone(), format!("{param} {reason}"))
    };
    let Value::Object(fields) = chat else {
        return Err(wrong("", "must be an object with a role"));
    };
    let role = role(fields.get("role")).map_err(|reason| wrong("role", &reason))?;
    let mut message = Message::new(role, "");
    message.parts = match fields.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(Value::Array(parts)) => parts.clone(),
        Some(_) => return Err(wrong("content", "must be a text or a list of parts")),
    };
    for (at, call) in list(fields.get("tool_calls")).iter().enumerate() {
        let call = call_from_chat(call).ok_or_else(|| {
            let reason = "must have an id and a function with a name";
            wrong(&format!("tool_calls[{at}]"), reason)
        })?;
        message.tool_calls.push(call);
    }
    if role == Role::Tool {
        let result = result_from_chat(fields, &message);
        let reason = "must say which call this answers";
        message.tool_result = Some(result.ok_or_else(|| wrong("tool_call_id", reason))?);
        message.parts.clear();
    }
    for name in ["name", "refusal", "reasoning_content", "reasoning_parts"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
            message.extras.insert(name.to_owned(), value.clone());
        }
    }
    Ok(message)
}

fn result_from_chat(fields: &Map<String, Value>, message: &Message) -> Option<ToolResult> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let content = match message.parts.as_slice() {
        [] => Value::String(String::new()),
        parts if parts.iter().all(|part| part.get("text").is_some()) => message.text().into(),
        parts => parts.to_vec().into(),
    };
    Some(ToolResult {
        call_id: text("tool_call_id")?,
        name: text("name"),
        content,
        is_error: false,
        extras: Map::new(),
    })
}

fn role(value: Option<&Value>) -> Result<Role, String> {
    let known = "system, developer, user, assistant or tool";
    let Some(Value::String(text)) = value else {
        return Err(format!("must be one of {known}"));
    };
    match text.as_str() {
        "system" => Ok(Role::System),
        "developer" => Ok(Role::Developer),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        other => Err(format!("is \"{other}\"; it must be one of {known}")),
    }
}

fn call_from_chat(call: &Value) -> Option<ToolCall> {
    let function = call.get("function")?;
    let arguments = function.get("arguments").cloned().unwrap_or_default();
    let name = function.get("name")?.as_str()?;
    Some(ToolCall::new(call.get("id")?.as_str()?, name, arguments))
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a message as models know it.
pub fn text(chat: &Value) -> String {
    content_text(chat.get("content"))
}

pub(crate) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| match part.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => part.to_string(),
            })
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &str, text: &str) -> Value {
        json!({"role": role, "content": text})
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let chats = [
            said("user", "hi"),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}),
            json!({"role": "tool", "content": "done", "tool_call_id": "c1"}),
            json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}], "name": "ann"}),
        ];
        for chat in chats {
            let message = from_chat("messages[0]", &chat).unwrap();
            assert_eq!(to_chat(&message), Some(chat));
        }
    }

    #[test]
    fn an_unknown_role_is_named() {
        let error = from_chat("messages[1]", &said("robot", "x")).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("messages[1].role"));
        assert_eq!(
            error.message,
            "messages[1].role is \"robot\"; it must be one of system, developer, user, assistant or tool"
        );
    }
}
