//! The generation options of a body, and the tools that the client runs itself.

use super::body::{Between, ChatCompletionBody};
use ambit_runtime::chat::{GenerationOptions, ToolDefinition};
use ambit_runtime::{Error, Result};
use serde_json::Number;

/// The options that are there.
pub fn of(body: &mut ChatCompletionBody) -> GenerationOptions {
    let mut options = GenerationOptions {
        temperature: body.temperature.and_then(Between::number),
        top_p: body.top_p.and_then(Between::number),
        presence_penalty: body.presence_penalty.and_then(Between::number),
        frequency_penalty: body.frequency_penalty.and_then(Between::number),
        max_tokens: body.max_tokens.map(Number::from),
        max_completion_tokens: body.max_completion_tokens.map(Number::from),
        seed: body.seed.map(Number::from),
        user: body.user.take(),
        stop: body.stop.take(),
        tool_choice: body.tool_choice.take(),
        ..GenerationOptions::default()
    };
    // Providers may know more forms of these than there are types for.
    let objects = [
        ("logit_bias", body.logit_bias.take()),
        ("response_format", body.response_format.take()),
    ];
    let objects = objects.into_iter();
    options.extend(objects.filter_map(|(name, object)| Some((name.to_owned(), object?.into()))));
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
