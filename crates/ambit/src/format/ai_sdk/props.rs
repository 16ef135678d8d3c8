//! Texts among the props of messages.

use ambit_runtime::frame::OutputMessage;
use serde_json::Value;

/// What a text says.
pub fn content(message: &OutputMessage) -> &str {
    text(message, "content")
}

/// A text; empty where there is none.
pub fn text<'a>(message: &'a OutputMessage, name: &str) -> &'a str {
    let value = message.props.get(name).and_then(Value::as_str);
    value.unwrap_or_default()
}
