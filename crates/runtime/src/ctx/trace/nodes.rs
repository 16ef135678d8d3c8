//! What calls of `ctx.trace` and its nodes do.

use super::{NODE, with_id};
use crate::ctx::ScriptCall;
use crate::trace::{LogLevel, NodeOptions, TraceNode};
use ambit_script::HostValue;
use serde_json::{Map, Value, json};

/// The nodes that a call is about: its own, or the current ones.
pub fn nodes(call: &ScriptCall<'_>) -> Vec<TraceNode> {
    let cursor = &call.reach.cursor;
    let Some(number) = call.handle.get("node").and_then(Value::as_u64) else {
        return cursor.current();
    };
    vec![cursor.node(u32::try_from(number).unwrap_or(0))]
}

/// Records what was given wrongly.
pub fn warn(call: &ScriptCall<'_>, rule: &str) {
    for node in nodes(call) {
        node.warn(format!("{}.{}: {rule}", call.class, call.method.name()));
    }
}

/// How a node begins, and whether it completes those above it.
pub fn start(call: &ScriptCall<'_>, input: Value, option: &Value) -> (NodeOptions, bool) {
    let mut start = NodeOptions {
        input,
        ..NodeOptions::default()
    };
    let fields = match option {
        Value::String(label) => {
            start.label.clone_from(label);
            return (start, true);
        }
        Value::Object(fields) => fields,
        _ => {
            warn(
                call,
                "the option must be an object with a label, or the label",
            );
            return (start, true);
        }
    };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) if name != "label" => String::new(),
        _ => {
            warn(call, &format!("option.{name} must be a string"));
            String::new()
        }
    };
    start.label = text("label");
    start.kind = text("type");
    start.icon = text("icon");
    start.description = text("description");
    start.metadata = match fields.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(_) => {
            warn(call, "option.metadata must be an object");
            Map::new()
        }
    };
    let completes = fields.get("autoCompleteParent") != Some(&Value::Bool(false));
    (start, completes)
}

pub fn add(call: &ScriptCall<'_>) -> HostValue {
    let start = start(call, call.value(0), &call.value(1));
    let new = call.reach.cursor.begin(&nodes(call), vec![start]);
    new.first()
        .map_or(HostValue::Undefined, |node| node_object(call, node))
}

pub fn parallel(call: &ScriptCall<'_>) -> HostValue {
    let Value::Array(inputs) = call.value(0) else {
        warn(call, "the inputs must be a list");
        return HostValue::List(Vec::new());
    };
    if inputs.is_empty() {
        return HostValue::List(Vec::new());
    }
    let member = |item: &Value, name: &str| item.get(name).cloned().unwrap_or_default();
    let starts = inputs.iter();
    let starts = starts.map(|item| start(call, member(item, "input"), &member(item, "option")));
    let new = call.reach.cursor.begin(&nodes(call), starts.collect());
    HostValue::List(new.iter().map(|node| node_object(call, node)).collect())
}

pub fn log(call: &ScriptCall<'_>) -> HostValue {
    let level = match call.method.name() {
        "Debug" => LogLevel::Debug,
        "Warn" => LogLevel::Warn,
        "Error" => LogLevel::Error,
        _ => LogLevel::Info,
    };
    if call.given(0).is_none() {
        warn(call, "there is no message");
        return HostValue::Receiver;
    }
    let message = match call.value(0) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    for node in nodes(call) {
        node.log(level, message.clone(), call.value(1));
    }
    HostValue::Receiver
}

pub fn set_output(call: &ScriptCall<'_>) -> HostValue {
    for node in nodes(call) {
        node.set_output(call.value(0));
    }
    HostValue::Receiver
}

pub fn set_metadata(call: &ScriptCall<'_>) -> HostValue {
    match call.value(0) {
        Value::String(key) => {
            for node in nodes(call) {
                node.set_metadata(&key, call.value(1));
            }
        }
        _ => warn(call, "the key must be a string"),
    }
    HostValue::Receiver
}

pub fn complete(call: &ScriptCall<'_>) -> HostValue {
    for node in nodes(call) {
        node.complete(call.given(0).cloned());
    }
    HostValue::Receiver
}

pub fn fail(call: &ScriptCall<'_>) -> HostValue {
    let error = match call.value(0) {
        Value::String(text) => text,
        Value::Null => "failed".to_owned(),
        // An error of the script, as JSON.
        other => match other.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => other.to_string(),
        },
    };
    for node in nodes(call) {
        node.fail(&error);
    }
    HostValue::Receiver
}

pub fn mark_complete(call: &ScriptCall<'_>) -> HostValue {
    call.reach.cursor.mark();
    HostValue::Receiver
}

pub fn is_complete(call: &ScriptCall<'_>) -> HostValue {
    json!(call.reach.cursor.is_marked()).into()
}

pub fn release(call: &ScriptCall<'_>) -> HostValue {
    call.reach.cursor.release();
    HostValue::Undefined
}

fn node_object(call: &ScriptCall<'_>, node: &TraceNode) -> HostValue {
    let handle = json!({"context": call.reach.number, "node": node.number().unwrap_or(0)});
    with_id(&NODE, handle, node.id())
}
