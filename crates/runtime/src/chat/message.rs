//! A message of a conversation, as models and scripts know it: OpenAI's shape.

use super::{
    BlockKind, BlockSource, ChatContent, ClientMessageFields, ContentPart, MessageOrigin,
    ReasoningPart, ToolCall,
};
use crate::error::{Error, Result};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::mem;

pub use ambit_storage::storage::Role;

/// The roles there are.
pub const ROLES: [Role; 5] = [
    Role::System,
    Role::Developer,
    Role::User,
    Role::Assistant,
    Role::Tool,
];

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ChatContent,
    /// What the model wants done.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's result answers.
    pub tool_call_id: Option<String>,
    /// Who of several with this role says it; the tool that was called.
    pub name: Option<String>,
    /// A refusal's text.
    pub refusal: Option<String>,
    /// Thinking that may be shown.
    pub reasoning_content: Option<String>,
    /// What the provider wants back.
    pub reasoning_parts: Vec<ReasoningPart>,
    /// What the client gave along with it, until it is stored.
    pub client: Option<Box<ClientMessageFields>>,
    /// Where it comes from.
    pub origin: MessageOrigin,
    /// All other fields, and those that are not what they must be.
    pub extra: Map<String, Value>,
}

impl ChatMessage {
    /// A message with this content.
    pub fn new(role: Role, content: impl Into<ChatContent>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            refusal: None,
            reasoning_content: None,
            reasoning_parts: Vec::new(),
            client: None,
            origin: MessageOrigin::default(),
            extra: Map::new(),
        }
    }

    /// What a person says.
    pub fn user(content: impl Into<ChatContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    pub fn assistant(content: impl Into<ChatContent>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Instructions.
    pub fn system(content: impl Into<ChatContent>) -> Self {
        Self::new(Role::System, content)
    }

    /// The result of a call.
    pub fn result(call_id: impl Into<String>, content: impl Into<ChatContent>) -> Self {
        Self {
            tool_call_id: Some(call_id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    /// The same message, which is this to a model and made of that.
    #[must_use]
    pub fn with_source(mut self, kind: BlockKind, source: BlockSource) -> Self {
        let cuts = mem::take(&mut self.origin.cuts);
        self.origin = MessageOrigin::new(kind, source);
        self.origin.cuts = cuts;
        self
    }

    /// Reads a message; `path` names it in errors, as in `messages[2]`.
    pub fn read(path: &str, message: Value) -> Result<Self> {
        let Value::Object(fields) = message else {
            return Err(invalid_field(path, "", "must be an object with a role"));
        };
        let role = role(fields.get("role"));
        let role = role.map_err(|reason| invalid_field(path, "role", &reason))?;
        Ok(Self::of(role, fields))
    }

    /// Reads a list of messages, which has this name in errors.
    pub fn read_all(name: &str, messages: Vec<Value>) -> Result<Vec<Self>> {
        let numbered = messages.into_iter().enumerate();
        let read = numbered.map(|(at, message)| Self::read(&format!("{name}[{at}]"), message));
        read.collect()
    }

    /// Refuses a message that a conversation cannot keep; `path` names it in errors.
    pub fn check(&self, path: &str) -> Result<()> {
        let extra = |name: &str| self.extra.get(name).filter(|value| !value.is_null());
        if extra("content").is_some() {
            return Err(invalid_field(
                path,
                "content",
                "must be a text or a list of parts",
            ));
        }
        let calls = extra("tool_calls").and_then(Value::as_array);
        let mut calls = calls.into_iter().flatten().cloned();
        let nameless = calls.position(|call| ToolCall::from_message(call).is_err());
        let anonymous = || self.tool_calls.iter().position(|call| call.id.is_empty());
        if let Some(at) = nameless.or_else(anonymous) {
            let field = format!("tool_calls[{at}]");
            let reason = "must have an id and a function with a name";
            return Err(invalid_field(path, &field, reason));
        }
        if self.role == Role::Tool && self.tool_call_id.is_none() {
            let reason = "must say which call this answers";
            return Err(invalid_field(path, "tool_call_id", reason));
        }
        match &self.client {
            Some(client) => client.check(path),
            None => Ok(()),
        }
    }

    /// A message of these fields, but for the role.
    fn of(role: Role, fields: Map<String, Value>) -> Self {
        let mut message = Self::new(role, ChatContent::Absent);
        for (name, value) in fields {
            if name != "role" {
                message.set(&name, value);
            }
        }
        message
    }

    /// Puts a value into the field that messages have under this name in JSON, or else into `extra`.
    pub fn set(&mut self, name: &str, value: Value) {
        let other = match name {
            "content" => self.take_content(value),
            "tool_calls" => match calls(value) {
                Ok(calls) => take(&mut self.tool_calls, calls),
                Err(value) => Some(value),
            },
            "tool_call_id" => take_text(&mut self.tool_call_id, value),
            "name" => take_text(&mut self.name, value),
            "refusal" => take_text(&mut self.refusal, value),
            "reasoning_content" => take_text(&mut self.reasoning_content, value),
            "reasoning_parts" => match parts(value) {
                Ok(parts) => take(&mut self.reasoning_parts, parts),
                Err(value) => Some(value),
            },
            "client" => match ClientMessageFields::deserialize(&value) {
                Ok(client) => take(&mut self.client, Some(Box::new(client))),
                Err(_) => Some(value),
            },
            _ => Some(value),
        };
        let other = other.map(|value| (name.to_owned(), value));
        self.extra.extend(other);
    }

    fn take_content(&mut self, value: Value) -> Option<Value> {
        self.content = match value {
            Value::Null => ChatContent::Null,
            Value::String(text) => ChatContent::Text(text),
            Value::Array(parts) => {
                ChatContent::Parts(parts.into_iter().map(ContentPart::from).collect())
            }
            other => return Some(other),
        };
        None
    }

    /// The message as JSON.
    pub fn to_json(&self) -> Value {
        // Only a map with keys that are no text could fail.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Messages as JSON.
pub fn to_json(messages: &[ChatMessage]) -> Value {
    messages.iter().map(ChatMessage::to_json).collect()
}

fn take<T>(field: &mut T, value: T) -> Option<Value> {
    *field = value;
    None
}

/// A text into its field; anything else is given back.
fn take_text(field: &mut Option<String>, value: Value) -> Option<Value> {
    match value {
        Value::String(text) => take(field, Some(text)),
        other => Some(other),
    }
}

/// All calls, if there are any and each has a name.
fn calls(value: Value) -> Result<Vec<ToolCall>, Value> {
    let Value::Array(calls) = value else {
        return Err(value);
    };
    let read = calls.iter().cloned().map(ToolCall::from_message);
    match read.collect::<Result<Vec<_>, _>>() {
        Ok(read) if !read.is_empty() => Ok(read),
        _ => Err(calls.into()),
    }
}

/// All parts, if there are any and each is an object.
fn parts(value: Value) -> Result<Vec<ReasoningPart>, Value> {
    match value {
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(Value::is_object) => {
            let parts = parts.into_iter();
            let parts = parts.filter_map(|part| match part {
                Value::Object(fields) => Some(fields.into()),
                _ => None,
            });
            Ok(parts.collect())
        }
        other => Err(other),
    }
}

/// The name of a role.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// The role of this name.
pub fn role_named(name: &str) -> Option<Role> {
    ROLES.into_iter().find(|role| role_name(*role) == name)
}

/// The role in a field of this value, or what is wrong with it.
fn role(value: Option<&Value>) -> Result<Role, String> {
    let text = value.and_then(Value::as_str);
    text.and_then(role_named).ok_or_else(|| {
        let [names @ .., last] = ROLES.map(role_name);
        let names = format!("must be one of {} or {last}", names.join(", "));
        match text {
            Some(text) => format!("is \"{text}\"; it {names}"),
            None => names,
        }
    })
}

pub(super) fn invalid_field(path: &str, field: &str, reason: &str) -> Error {
    let param = match field {
        "" => path.to_owned(),
        field => format!("{path}.{field}"),
    };
    let message = format!("{param} {reason}");
    Error::invalid(param, message)
}

impl Serialize for ChatMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        if self.content != ChatContent::Absent {
            map.serialize_entry("content", &self.content)?;
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(ToolCall::to_message);
            map.serialize_entry("tool_calls", &calls.collect::<Vec<_>>())?;
        }
        for (name, text) in [
            ("tool_call_id", &self.tool_call_id),
            ("name", &self.name),
            ("refusal", &self.refusal),
            ("reasoning_content", &self.reasoning_content),
        ] {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        if !self.reasoning_parts.is_empty() {
            map.serialize_entry("reasoning_parts", &self.reasoning_parts)?;
        }
        if let Some(client) = &self.client {
            map.serialize_entry("client", client)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ChatMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let role = role(fields.get("role"));
        let role = role.map_err(|reason| D::Error::custom(format!("role {reason}")))?;
        Ok(Self::of(role, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_read_and_written_as_they_came() {
        for message in [
            json!({"role": "user", "content": "hi", "name": "ann"}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}),
            json!({"role": "tool", "content": "done", "tool_call_id": "c1", "name": "f"}),
            json!({"role": "assistant"}),
            json!({"role": "developer", "content": [{"type": "text", "text": "a"}, "odd", {"x": 0.1}]}),
            json!({"role": "assistant", "content": "", "refusal": "no", "reasoning_content": "hm",
                "reasoning_parts": [{"type": "thinking", "signature": "s", "connector": "one"}],
                "audio": {"id": "a"}, "number": 123456789012345678u64, "small": 0.30000000000000004}),
        ] {
            let read = ChatMessage::read("messages[0]", message.clone()).unwrap();
            read.check("messages[0]").unwrap();
            assert_eq!(read.to_json().to_string(), message.to_string());
            // Hashes are made of either text.
            assert_eq!(serde_json::to_string(&read).unwrap(), message.to_string());
            assert_eq!(ChatMessage::deserialize(message).unwrap(), read);
        }
    }

    #[test]
    fn fields_of_another_form_stay_as_they_are() {
        for message in [
            json!({"role": "user", "content": 5}),
            json!({"role": "assistant", "tool_calls": []}),
            json!({"role": "assistant", "tool_calls": [{"id": "c"}], "name": null, "refusal": [1]}),
            json!({"role": "assistant", "reasoning_parts": ["hm"], "reasoning_content": {}}),
        ] {
            let read = ChatMessage::read("messages[0]", message.clone()).unwrap();
            assert_eq!(read.to_json(), message);
            assert!(read.tool_calls.is_empty() && read.reasoning_parts.is_empty());
        }
    }

    #[test]
    fn what_no_conversation_can_keep_is_refused_with_its_place() {
        for (message, param, reason) in [
            (json!("hi"), "m[1]", "must be an object with a role"),
            (
                json!({"role": "robot"}),
                "m[1].role",
                "is \"robot\"; it must be one of system, developer, user, assistant or tool",
            ),
            (
                json!({"content": "x"}),
                "m[1].role",
                "must be one of system, developer, user, assistant or tool",
            ),
            (
                json!({"role": "user", "content": {}}),
                "m[1].content",
                "must be a text or a list of parts",
            ),
            (
                json!({"role": "assistant", "tool_calls": [
                    {"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {}}]}),
                "m[1].tool_calls[1]",
                "must have an id and a function with a name",
            ),
            (
                json!({"role": "tool", "content": "x"}),
                "m[1].tool_call_id",
                "must say which call this answers",
            ),
        ] {
            let read = ChatMessage::read("m[1]", message);
            let error = read.and_then(|read| read.check("m[1]")).unwrap_err();
            assert_eq!(error.param.as_deref(), Some(param));
            assert_eq!(error.message, format!("{param} {reason}"));
        }
    }
}
