//! The generation options of a body, and the tools that the client runs itself.

use super::body::ChatCompletionBody;
use ambit_runtime::chat::{GenerationOptions, ToolDefinition};
use ambit_runtime::{Error, Result};
use serde_json::Value;

/// The options that are there.
pub fn of(body: &ChatCompletionBody) -> GenerationOptions {
    let mut options = GenerationOptions::default();
    let mut keep = |name: &str, value: Option<Value>| value.map(|value| options.set(name, value));
    let number = |number: Option<f64>| number.map(Value::from);
    keep(
        "temperature",
        number(body.temperature.as_ref().map(|range| range.0)),
    );
    keep("top_p", number(body.top_p.as_ref().map(|range| range.0)));
    keep(
        "presence_penalty",
        number(body.presence_penalty.as_ref().map(|range| range.0)),
    );
    keep(
        "frequency_penalty",
        number(body.frequency_penalty.as_ref().map(|range| range.0)),
    );
    keep("max_tokens", body.max_tokens.map(Value::from));
    keep(
        "max_completion_tokens",
        body.max_completion_tokens.map(Value::from),
    );
    keep("seed", body.seed.map(Value::from));
    keep("user", body.user.clone().map(Value::from));
    keep("logit_bias", body.logit_bias.clone().map(Value::from));
    keep(
        "response_format",
        body.response_format.clone().map(Value::from),
    );
    keep("stop", body.stop.as_ref().map(|stop| stop.0.clone()));
    keep(
        "tool_choice",
        body.tool_choice.as_ref().map(|choice| choice.0.clone()),
    );
    options
}

/// Refuses options and tools that no agent can follow.
pub fn check(body: &ChatCompletionBody) -> Result<()> {
    let tokens = [
        ("max_tokens", body.max_tokens),
        ("max_completion_tokens", body.max_completion_tokens),
    ];
    let mut tokens = tokens.iter();
    if let Some((name, _)) = tokens.find(|(_, number)| number.is_some_and(|number| number < 1)) {
        return Err(Error::invalid(*name, format!("{name} must be at least 1")));
    }
    if body.n.is_some_and(|n| n != 1) {
        return Err(Error::invalid(
            "n",
            "n must be 1: an agent gives one answer",
        ));
    }
    let mut tools = body.tools.iter().flatten();
    if let Some(at) = tools.position(|tool| tool.name.is_empty()) {
        let place = format!("tools[{at}].function.name");
        return Err(Error::invalid(&place, format!("{place} must be a string")));
    }
    Ok(())
}

/// What the tools of a list are called.
pub fn names(tools: &[ToolDefinition]) -> Vec<String> {
    let names = tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| !name.is_empty()).collect()
}
