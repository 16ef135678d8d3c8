//! What a change does to the props of a message: the same for who sends it, who stores it and who receives it.

use super::props_path::PropsPath;
use serde_json::{Map, Value};
use std::fmt;

/// The props of a message.
pub type MessageProps = Map<String, Value>;

/// Why a change cannot be made; the props are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// Something of another type stands there.
    Type {
        /// Where.
        path: String,
        /// What stands there.
        found: &'static str,
        /// What could.
        expected: &'static str,
    },
    /// A place behind the end of a list.
    Range {
        /// The list.
        path: String,
        /// The place.
        index: String,
        /// The list's length.
        length: usize,
    },
}

impl fmt::Display for ChangeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type {
                path,
                found,
                expected,
            } => write!(out, "{path} is a {found}; expected {expected}"),
            Self::Range {
                path,
                index,
                length,
            } => write!(
                out,
                "index {index} is out of range for {path} (length {length})"
            ),
        }
    }
}

/// The type's name as scripts are told it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Adds a text to a text, or items to a list; what is not there is made.
pub fn append(props: &mut MessageProps, path: &PropsPath, value: Value) -> Result<(), ChangeError> {
    if path.is_whole() {
        return Err(unfit(path, "object", "string or list"));
    }
    change_at(props, path, |target| match (target, value) {
        (Value::String(text), Value::String(more)) => {
            text.push_str(&more);
            Ok(())
        }
        (Value::Array(items), Value::Array(more)) => {
            items.extend(more);
            Ok(())
        }
        (Value::Array(items), item) => {
            items.push(item);
            Ok(())
        }
        (target @ Value::Null, value @ (Value::String(_) | Value::Array(_))) => {
            *target = value;
            Ok(())
        }
        (target @ Value::Null, item) => {
            *target = Value::Array(vec![item]);
            Ok(())
        }
        (Value::String(_), value) => Err(ChangeError::Type {
            path: "content".to_owned(),
            found: kind(&value),
            expected: "string",
        }),
        (target, _) => Err(unfit(path, kind(target), "string or list")),
    })
}

/// Merges an object into an object: objects key by key, everything else replaces.
pub fn merge(
    props: &mut MessageProps,
    path: &PropsPath,
    value: MessageProps,
) -> Result<(), ChangeError> {
    if path.is_whole() {
        blend(props, value);
        return Ok(());
    }
    change_at(props, path, |target| match target {
        Value::Object(target) => {
            blend(target, value);
            Ok(())
        }
        Value::Null => {
            *target = Value::Object(value);
            Ok(())
        }
        target => Err(unfit(path, kind(target), "object")),
    })
}

fn blend(target: &mut MessageProps, value: MessageProps) {
    for (key, value) in value {
        match (target.get_mut(&key), value) {
            (Some(Value::Object(target)), Value::Object(value)) => blend(target, value),
            (_, value) => {
                target.insert(key, value);
            }
        }
    }
}

/// Puts a value; objects that are not there are made.
pub fn set(props: &mut MessageProps, path: &PropsPath, value: Value) -> Result<(), ChangeError> {
    if !path.is_whole() {
        return change_at(props, path, |target| {
            *target = value;
            Ok(())
        });
    }
    match value {
        Value::Object(value) => {
            *props = value;
            Ok(())
        }
        other => Err(unfit(path, kind(&other), "object")),
    }
}

fn unfit(path: &PropsPath, found: &'static str, expected: &'static str) -> ChangeError {
    ChangeError::Type {
        path: path.name().to_owned(),
        found,
        expected,
    }
}

/// Does something to the value at a path; it is `null` where there was none. Nothing is made before all that can fail has not.
fn change_at(
    props: &mut MessageProps,
    path: &PropsPath,
    act: impl FnOnce(&mut Value) -> Result<(), ChangeError>,
) -> Result<(), ChangeError> {
    let mut root = Value::Object(std::mem::take(props));
    let done = find(&mut root, path).and_then(act);
    if let Value::Object(root) = root {
        *props = root;
    }
    done
}

fn find<'a>(root: &'a mut Value, path: &PropsPath) -> Result<&'a mut Value, ChangeError> {
    let mut here = root;
    for (depth, step) in path.steps().iter().enumerate() {
        if here.is_null() {
            *here = Value::Object(Map::new());
        }
        here = match here {
            Value::Object(fields) => fields.entry(step.as_str()).or_insert(Value::Null),
            Value::Array(items) => item(items, step, || path.before(depth))?,
            other => {
                return Err(ChangeError::Type {
                    path: path.before(depth),
                    found: kind(other),
                    expected: "object or list",
                });
            }
        };
    }
    Ok(here)
}

/// An item of a list, or the place for one more.
fn item<'a>(
    items: &'a mut Vec<Value>,
    step: &str,
    path: impl Fn() -> String,
) -> Result<&'a mut Value, ChangeError> {
    let length = items.len();
    if !step.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ChangeError::Type {
            path: path(),
            found: "list",
            expected: "object",
        });
    }
    if step.parse() == Ok(length) {
        items.push(Value::Null);
    }
    let found = step
        .parse()
        .ok()
        .and_then(|index: usize| items.get_mut(index));
    found.ok_or_else(|| ChangeError::Range {
        path: path(),
        index: step.to_owned(),
        length,
    })
}
