//! What scripts give: messages, ids, paths and values, checked and with the exact words of the contract.

use super::change::{MessageChange, size, too_large, value_at};
use crate::error::{Error, ErrorCode, Result};
use crate::frame::change::{MessageProps, kind};
use crate::frame::props_path::PropsPath;
use crate::json_depth::DepthLimited;
use crate::optional::optional;
use ambit_storage::json::MAX_GIVEN_LEVELS;
use serde_json::{Map, Value};

/// Ids that scripts choose have at most so many bytes.
const ID: usize = 256;
/// What scripts cannot say in a message's metadata.
const OWN_METADATA: [&str; 3] = ["timestamp", "sequence", "trace_id"];
const RESERVED: [&str; 4] = ["stream_", "message_", "block_", "thread_"];

/// A message as a script gave it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MessageDraft {
    pub kind: String,
    pub props: MessageProps,
    pub message_id: Option<String>,
    pub block_id: Option<String>,
    pub thread_id: Option<String>,
    pub metadata: Option<Map<String, Value>>,
}

impl MessageDraft {
    /// The message and block of `Send` and `SendStream`.
    pub fn of_arguments(method: &str, arguments: &[Value], limit: usize) -> Result<Self> {
        let Some(message) = arguments.first() else {
            return Err(invalid(format!("{method} requires a message argument")));
        };
        let mut draft = Self::parse(message)?;
        if draft.block_id.is_none() {
            draft.block_id = id("block_id", arguments.get(1))?;
        }
        draft.check_size(limit)?;
        Ok(draft)
    }

    /// A string or an object.
    pub fn parse(message: &Value) -> Result<Self> {
        let fields = match message {
            Value::String(text) => return Ok(Self::text(text)),
            Value::Object(fields) => fields,
            _ => {
                let what = "invalid message: expected a string or an object";
                return Err(invalid(what));
            }
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or("");
        if kind.is_empty() {
            let what = "invalid message: message.type is required and must be a string";
            return Err(invalid(what));
        }
        let is_no_object = || invalid("invalid message: message.props must be an object");
        let props = optional(fields.get("props"), Value::as_object, is_no_object)?;
        let props = props.cloned().unwrap_or_default();
        check_depth(&props)?;
        let metadata = fields.get("metadata").and_then(Value::as_object).cloned();
        metadata.as_ref().map_or(Ok(()), check_depth)?;
        Ok(Self {
            kind: kind.to_owned(),
            props,
            message_id: id("messageId", fields.get("message_id"))?,
            block_id: id("block_id", fields.get("block_id"))?,
            thread_id: id("thread_id", fields.get("thread_id"))?,
            metadata: metadata.map(without_own),
        })
    }

    fn text(text: &str) -> Self {
        let mut props = Map::new();
        props.insert("content".to_owned(), text.into());
        Self {
            kind: "text".to_owned(),
            props,
            ..Self::default()
        }
    }

    fn check_size(&self, limit: usize) -> Result<()> {
        let metadata = self.metadata.as_ref().map_or(0, size);
        if size(&self.props) + metadata > limit {
            return Err(too_large(limit));
        }
        Ok(())
    }

    /// Refuses the names of the runtime's own events.
    pub fn check_event(&self) -> Result<()> {
        let name = self.props.get("event").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        if name == "interrupt" || RESERVED.iter().any(|start| name.starts_with(start)) {
            return Err(invalid(format!("event \"{name}\" is reserved")));
        }
        Ok(())
    }
}

fn without_own(mut metadata: Map<String, Value>) -> Map<String, Value> {
    metadata.retain(|key, _| !OWN_METADATA.contains(&key.as_str()));
    metadata
}

/// What `Replace` makes of a message.
pub(super) fn replacement(message: &Value) -> Result<(MessageProps, Option<String>)> {
    match message {
        Value::Object(fields) if !is_message(message) => {
            check_depth(fields)?;
            Ok((fields.clone(), None))
        }
        _ => {
            let draft = MessageDraft::parse(message)?;
            if draft.kind == "event" {
                let what = "invalid message: an event cannot take the place of a message";
                return Err(invalid(what));
            }
            Ok((draft.props, Some(draft.kind)))
        }
    }
}

/// `{type, props}`: a string and an object.
fn is_message(value: &Value) -> bool {
    let has_type = value.get("type").is_some_and(Value::is_string);
    has_type && value.get("props").is_some_and(Value::is_object)
}

/// The change of `Append`, `Merge` or `Set`.
pub(super) fn change(method: &str, value: &Value, path: PropsPath) -> Result<MessageChange> {
    let form = is_message(value).then(|| value.get("props").and_then(Value::as_object));
    let form = form.flatten();
    if method == "Merge" {
        let Some(value) = form.or_else(|| value.as_object()) else {
            return Err(invalid("Merge: data must be an object"));
        };
        check_depth(value)?;
        return Ok(MessageChange::Merge(value.clone(), path));
    }
    let found = form.and_then(|props| match path.is_whole() {
        true => Some(Value::Object(props.clone())),
        false => value_at(&path, props).cloned(),
    });
    let value = found.unwrap_or_else(|| value.clone());
    check_depth(&value)?;
    Ok(match (method, value) {
        ("Set", value) => MessageChange::Set(value, path),
        (_, value) => MessageChange::Append(value, path),
    })
}

/// The path that a script gave, if it gave one.
pub(super) fn path(value: Option<&Value>) -> Result<Option<PropsPath>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => {
            let path = PropsPath::parse(text);
            path.map(Some)
                .ok_or_else(|| invalid(format!("invalid path \"{text}\"")))
        }
        Some(other) => Err(invalid(format!("invalid path \"{other}\""))),
    }
}

/// The id of a message that is there.
pub(super) fn message_id(value: &Value) -> Result<&str> {
    value
        .as_str()
        .ok_or_else(|| invalid("messageId must be a string"))
}

/// An id that a script chose; an empty one is none.
pub(super) fn id(name: &str, value: Option<&Value>) -> Result<Option<String>> {
    let is_no_text = || invalid(format!("{name} must be a string"));
    match optional(value, Value::as_str, is_no_text)? {
        None | Some("") => Ok(None),
        Some(id) if id.len() > ID => Err(invalid(format!("{name} exceeds {ID} bytes"))),
        Some(id) if id.contains('\0') => Err(invalid(format!("{name} contains U+0000"))),
        Some(id) => Ok(Some(id.to_owned())),
    }
}

/// The text that `End` adds.
pub(super) fn final_content(value: Option<&Value>) -> Result<Option<&str>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let found = kind(other);
            let what = format!("End: final_content is a {found}; expected string");
            Err(invalid(what))
        }
    }
}

fn check_depth(value: &impl DepthLimited) -> Result<()> {
    if !value.is_within(MAX_GIVEN_LEVELS) {
        let what = format!("invalid message: nested more than {MAX_GIVEN_LEVELS} levels deep");
        return Err(invalid(what));
    }
    Ok(())
}

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, what)
}
