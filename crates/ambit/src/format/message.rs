//! Messages as a client holds them that applied every frame.

use ambit_runtime::Frame;
use ambit_runtime::frame::Action;
use ambit_runtime::stream::Entry;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// An entry's frame. One that cannot be read is told to whoever looks after the server; the stream goes on without it.
pub fn read(entry: &Entry) -> Option<Frame> {
    serde_json::from_str(&entry.text)
        .inspect_err(|error| {
            tracing::error!(entry = entry.number, %error, "an entry of a stream cannot be read");
        })
        .ok()
}

/// One message in its present state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub props: Map<String, Value>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// The messages of a stream, in the order in which they began.
#[derive(Debug, Default)]
pub struct Messages {
    list: Vec<Message>,
    places: HashMap<String, usize>,
}

impl Messages {
    pub fn list(&self) -> &[Message] {
        &self.list
    }

    pub fn into_list(self) -> Vec<Message> {
        self.list
    }

    /// The place of the message that a frame is about; a new one where there is none. Events are about none.
    pub fn place(&mut self, frame: &Frame) -> Option<usize> {
        let id = frame.message_id.as_deref()?;
        if frame.kind == "event" {
            return None;
        }
        if let Some(place) = self.places.get(id) {
            return Some(*place);
        }
        self.list.push(Message {
            kind: frame.kind.clone(),
            message_id: id.to_owned(),
            block_id: frame.block_id.clone(),
            thread_id: frame.thread_id.clone(),
            ..Message::default()
        });
        let place = self.list.len() - 1;
        self.places.insert(id.to_owned(), place);
        Some(place)
    }

    /// Applies a frame to the message at this place.
    pub fn apply(&mut self, place: usize, frame: Frame) {
        let message = &mut self.list[place];
        if !frame.delta {
            message.kind = frame.kind;
            message.props = frame.props;
            message.metadata = frame.metadata;
            return;
        }
        let action = frame.delta_action.unwrap_or(Action::Append);
        if action == Action::Replace {
            message.kind = frame.kind;
            message.props = frame.props;
            return;
        }
        let path = match (&frame.delta_path, action) {
            (Some(path), _) => segments(path),
            (None, Action::Append) => vec!["content".to_owned()],
            (None, _) => Vec::new(),
        };
        let mut change = &Value::Object(frame.props);
        for segment in &path {
            let Some(inner) = change.get(segment) else {
                return;
            };
            change = inner;
        }
        let mut props = Value::Object(std::mem::take(&mut message.props));
        if let Some(target) = walk(&mut props, &path) {
            change_value(target, action, change);
        }
        if let Value::Object(props) = props {
            message.props = props;
        }
    }
}

fn change_value(target: &mut Value, action: Action, change: &Value) {
    match (action, &mut *target, change) {
        (Action::Append, Value::String(text), Value::String(more)) => text.push_str(more),
        (Action::Append, Value::Array(items), Value::Array(more)) => {
            items.extend(more.iter().cloned());
        }
        (Action::Merge, target, change) => merge(target, change),
        (_, target, change) => *target = change.clone(),
    }
}

fn merge(target: &mut Value, change: &Value) {
    let (Value::Object(target), Value::Object(change)) = (&mut *target, change) else {
        *target = change.clone();
        return;
    };
    for (key, value) in change {
        merge(target.entry(key.clone()).or_insert(Value::Null), value);
    }
}

/// The value at this path, made where it is missing.
fn walk<'a>(props: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(props, |value, segment| match value {
        Value::Array(items) => {
            let index: usize = segment.parse().ok()?;
            if index == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(index)
        }
        other => {
            if !other.is_object() {
                *other = Value::Object(Map::new());
            }
            let object = other.as_object_mut()?;
            Some(object.entry(segment.clone()).or_insert(Value::Null))
        }
    })
}

/// The parts of a path; `\.` is a dot that separates nothing.
fn segments(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut add = |letter| {
            if let Some(last) = parts.last_mut() {
                last.push(letter);
            }
        };
        match letter {
            '\\' if letters.next_if_eq(&'.').is_some() => add('.'),
            '.' => parts.push(String::new()),
            other => add(other),
        }
    }
    parts
}
