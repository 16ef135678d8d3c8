//! `uses`: who does the steps beside the model, and what they are asked.

mod step_tools;

pub(crate) use step_tools::StepTools;

use crate::app::App;
use crate::chat::ChatMessage;
use crate::error::{Error, ErrorCode};
use ambit_storage::suggestion;
use futures::future::BoxFuture;
use serde_json::Value;

/// What a value of `uses` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsesTarget {
    /// What Ambit has for it.
    Builtin,
    /// Nobody does it.
    Disabled,
    /// This agent.
    Agent(String),
    /// A tool: `<server>.<tool>`, or a server that has one for it.
    Tool(String),
}

impl UsesTarget {
    /// Its value, as traces show it.
    pub fn name(&self) -> String {
        match self {
            Self::Builtin => "builtin".to_owned(),
            Self::Disabled => "disabled".to_owned(),
            Self::Agent(id) => format!("agent:{id}"),
            Self::Tool(tool) => format!("mcp:{tool}"),
        }
    }

    /// Reads a value; `Err` says why it is unknown.
    pub fn read(app: &App, value: &str) -> Result<Self, String> {
        match value {
            "builtin" => return Ok(Self::Builtin),
            "disabled" => return Ok(Self::Disabled),
            _ => {}
        }
        if let Some(tool) = value.strip_prefix("mcp:") {
            return Ok(Self::Tool(tool.to_owned()));
        }
        let id = value.strip_prefix("agent:").unwrap_or(value);
        match app.agents.contains_key(id) {
            true => Ok(Self::Agent(id.to_owned())),
            false => {
                let known = app.agents.keys().map(String::as_str);
                let hint = suggestion::hint(id, known.chain(["builtin", "disabled"]));
                Err(format!("there is no agent \"{id}\"{hint}"))
            }
        }
    }
}

/// Asks whoever does a step.
pub trait UsesAsker: Send + Sync {
    /// What whoever is meant answers: of an agent `Next`'s data, else the completion as JSON, else its text. `Builtin` is the
    /// model of the step's role, and `Disabled` nobody. Dropping the future ends the step.
    fn ask<'a>(
        &'a self,
        means: &'a UsesTarget,
        wanted: UsesRequest,
    ) -> BoxFuture<'a, Result<Value, UsesFailure>>;
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct UsesRequest {
    /// The step, as `uses` names it.
    pub key: &'static str,
    /// What an agent or a model is to see.
    pub messages: Vec<ChatMessage>,
    /// What a tool gets.
    pub arguments: Value,
}

impl UsesRequest {
    /// A request that agents and models see as its JSON.
    pub fn of(key: &'static str, request: Value) -> Self {
        Self {
            key,
            messages: vec![ChatMessage::user(request.to_string())],
            arguments: request,
        }
    }

    /// A request of which there is one copy, for this target alone.
    pub fn for_target(target: &UsesTarget, key: &'static str, request: Value) -> Self {
        match target {
            UsesTarget::Tool(_) => Self {
                key,
                messages: Vec::new(),
                arguments: request,
            },
            _ => Self {
                arguments: Value::Null,
                ..Self::of(key, request)
            },
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum UsesFailure {
    /// The value of `uses` names nothing: the step is skipped.
    #[error("{0}")]
    Unknown(String),
    /// Whoever was asked has failed.
    #[error("{}", .0.message)]
    Failed(#[from] Error),
}

/// What an agent's answer means: `Next`'s data, else its text as JSON, else the text.
pub(crate) fn agent_answer(
    error: Option<&str>,
    next: &Value,
    text: &str,
) -> Result<Value, UsesFailure> {
    if let Some(why) = error {
        return Err(UsesFailure::Failed(Error::new(ErrorCode::LlmError, why)));
    }
    if !next.is_null() {
        return Ok(next.clone());
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
}

/// An answer in words, where words are wanted: an object may have them in `text` or `content`.
pub(crate) fn words(answer: &Value) -> String {
    let inner = answer.get("text").or_else(|| answer.get("content"));
    match inner.filter(|inner| inner.is_string()).unwrap_or(answer) {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn values_are_told_apart() {
        let mut app = App::default();
        for id in ["eyes", "tests.ears"] {
            app.agents.insert(id.to_owned(), Ok(Arc::default()));
        }
        let agent = |id: &str| Ok(UsesTarget::Agent(id.to_owned()));
        for (value, expected) in [
            ("builtin", Ok(UsesTarget::Builtin)),
            ("disabled", Ok(UsesTarget::Disabled)),
            ("eyes", agent("eyes")),
            ("agent:tests.ears", agent("tests.ears")),
            ("mcp:box.see", Ok(UsesTarget::Tool("box.see".to_owned()))),
            (
                "eyed",
                Err("there is no agent \"eyed\"; did you mean \"eyes\"?".to_owned()),
            ),
        ] {
            assert_eq!(UsesTarget::read(&app, value), expected, "{value}");
        }
    }

    #[test]
    fn answers_are_put_in_words() {
        for (answer, expected) in [
            (json!("a cat"), "a cat"),
            (json!({"text": "a cat", "sure": 1}), "a cat"),
            (json!({"content": "a cat"}), "a cat"),
            (json!({"animal": "cat"}), "{\"animal\":\"cat\"}"),
            (json!(null), ""),
        ] {
            assert_eq!(words(&answer), expected);
        }
    }
}
