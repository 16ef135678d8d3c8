//! The messages that a client sends.

use super::content_parts;
use ambit_runtime::app::AppAgent;
use ambit_runtime::{Error, Result};
use serde_json::{Map, Value};

/// Refuses messages that are none, and roles that clients of this agent may not use.
pub fn check(messages: &[Value], agent: &AppAgent) -> Result<()> {
    if messages.is_empty() {
        let message = "messages must hold at least one message";
        return Err(Error::invalid("messages", message));
    }
    let mut messages = messages.iter().enumerate();
    messages.try_for_each(|(at, message)| check_one(message, &format!("messages[{at}]"), agent))
}

/// Refuses what is no message, and roles that are not the client's to use.
fn check_one(message: &Value, place: &str, agent: &AppAgent) -> Result<()> {
    let Value::Object(message) = message else {
        return Err(Error::invalid(place, format!("{place} must be an object")));
    };
    let param = format!("{place}.role");
    let role = text(message, "role", place)?.ok_or_else(|| {
        Error::invalid(
            &param,
            format!("{param} is missing; it is user or another role"),
        )
    })?;
    if role != "user" && !agent.package.client.roles.iter().any(|known| known == role) {
        let message = format!(
            "{param}: agent \"{}\" takes no {role} messages from clients",
            agent.id
        );
        return Err(Error::invalid(param, message));
    }
    if role == "tool" && text(message, "tool_call_id", place)?.is_none() {
        let param = format!("{place}.tool_call_id");
        return Err(Error::invalid(
            &param,
            format!("{param} is missing; it names the call that is answered"),
        ));
    }
    text(message, "name", place)?;
    check_calls(message, place)?;
    check_content(message, role, place)
}

/// Refuses what is no message of a person.
pub fn check_user_message(message: &Value, place: &str) -> Result<()> {
    let Value::Object(fields) = message else {
        return Err(Error::invalid(place, format!("{place} must be an object")));
    };
    if fields.get("role").is_none_or(|role| role != "user") {
        let place = format!("{place}.role");
        return Err(Error::invalid(&place, format!("{place} must be user")));
    }
    text(fields, "name", place)?;
    check_content(fields, "user", place)
}

fn check_content(message: &Map<String, Value>, role: &str, place: &str) -> Result<()> {
    let place = format!("{place}.content");
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => content_parts::check(parts, &place),
        None | Some(Value::Null) if role == "assistant" => Ok(()),
        _ => Err(Error::invalid(
            &place,
            format!("{place} must be a string or a list of parts"),
        )),
    }
}

fn check_calls(message: &Map<String, Value>, place: &str) -> Result<()> {
    let place = format!("{place}.tool_calls");
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(Error::invalid(&place, format!("{place} must be a list"))),
    };
    for (at, call) in calls.iter().enumerate() {
        let is_text = |value: Option<&Value>| value.is_some_and(Value::is_string);
        let function = call.get("function");
        let has_name = is_text(function.and_then(|function| function.get("name")));
        let has_arguments = is_text(function.and_then(|function| function.get("arguments")));
        if !(is_text(call.get("id")) && has_name && has_arguments) {
            let place = format!("{place}[{at}]");
            let message =
                format!("{place} must have id, function.name and function.arguments as strings");
            return Err(Error::invalid(place, message));
        }
    }
    Ok(())
}

fn text<'a>(message: &'a Map<String, Value>, name: &str, place: &str) -> Result<Option<&'a str>> {
    match message.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let place = format!("{place}.{name}");
            Err(Error::invalid(&place, format!("{place} must be a string")))
        }
    }
}
