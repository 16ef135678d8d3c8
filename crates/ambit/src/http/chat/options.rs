//! The generation options of a body.

use crate::http::JsonFields;
use ambit_runtime::{Error, Result};
use serde_json::{Map, Value};

/// A number and the range it must be in.
const NUMBERS: [(&str, f64, f64); 4] = [
    ("temperature", 0.0, 2.0),
    ("top_p", 0.0, 1.0),
    ("presence_penalty", -2.0, 2.0),
    ("frequency_penalty", -2.0, 2.0),
];
/// Whole numbers of tokens.
const TOKENS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// The options that are there.
pub fn read(fields: &mut JsonFields<'_>) -> Result<Map<String, Value>> {
    let mut options = Map::new();
    for (name, from, to) in NUMBERS {
        let Some(number) = fields.number(name)? else {
            continue;
        };
        if !(from..=to).contains(&number) {
            return Err(Error::invalid(
                name,
                format!("{name} must be from {from} to {to}"),
            ));
        }
        options.insert(name.to_owned(), number.into());
    }
    for name in TOKENS {
        let Some(number) = fields.whole(name)? else {
            continue;
        };
        if number < 1 {
            return Err(Error::invalid(name, format!("{name} must be at least 1")));
        }
        options.insert(name.to_owned(), number.into());
    }
    if fields.whole("n")?.is_some_and(|n| n != 1) {
        return Err(Error::invalid(
            "n",
            "n must be 1: an agent gives one answer",
        ));
    }
    let mut keep = |name: &str, value: Option<Value>| {
        value.map(|value| options.insert(name.to_owned(), value))
    };
    keep("seed", fields.whole("seed")?.map(Value::from));
    keep("user", fields.text("user")?.map(Value::from));
    keep("logit_bias", fields.object("logit_bias")?.map(Value::from));
    keep(
        "response_format",
        fields.object("response_format")?.map(Value::from),
    );
    keep("stop", stop(fields.value("stop")?)?);
    keep("tool_choice", tool_choice(fields.value("tool_choice")?)?);
    Ok(options)
}

fn stop(value: Option<Value>) -> Result<Option<Value>> {
    let is_right = match &value {
        None | Some(Value::String(_)) => true,
        Some(Value::Array(texts)) => texts.iter().all(Value::is_string),
        Some(_) => false,
    };
    let refused = || Error::invalid("stop", "stop must be a string or a list of strings");
    is_right.then_some(value).ok_or_else(refused)
}

fn tool_choice(value: Option<Value>) -> Result<Option<Value>> {
    let is_right = matches!(value, None | Some(Value::String(_) | Value::Object(_)));
    let refused = || Error::invalid("tool_choice", "tool_choice must be a string or an object");
    is_right.then_some(value).ok_or_else(refused)
}

/// The tools that the client runs itself.
pub fn tools(fields: &mut JsonFields<'_>) -> Result<Vec<Value>> {
    let tools = fields.list("tools")?.unwrap_or_default();
    for (at, tool) in tools.iter().enumerate() {
        if name(tool).is_none_or(str::is_empty) {
            let place = format!("tools[{at}].function.name");
            return Err(Error::invalid(&place, format!("{place} must be a string")));
        }
    }
    Ok(tools)
}

/// What the tools of a list are called.
pub fn names(tools: &[Value]) -> Vec<String> {
    let names = tools.iter().filter_map(name);
    names.map(str::to_owned).collect()
}

fn name(tool: &Value) -> Option<&str> {
    tool.get("function")?.get("name")?.as_str()
}
