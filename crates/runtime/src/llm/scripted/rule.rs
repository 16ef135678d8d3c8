//! A rule: when it holds, and what it does.

use super::conversation::ScriptedConversation;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A rule that can be asked.
pub struct ScriptedRule {
    last_user: Option<Regex>,
    system: Option<Regex>,
    has_tool_result: Option<bool>,
    round: Option<usize>,
    tools: Option<Vec<String>>,
    times: Option<u64>,
    used: AtomicU64,
    /// The text, with variables.
    pub reply: Option<String>,
    /// Thinking before it.
    pub reasoning: Option<String>,
    /// Calls of tools behind it.
    pub tool_calls: Vec<ScriptedToolCall>,
    /// A JSON value as the text.
    pub json: Option<Value>,
    /// Another reason to finish than the usual.
    pub finish_reason: Option<String>,
    /// A failure instead of an answer.
    pub error: Option<ScriptedFailure>,
    /// The stream breaks off after so many chunks.
    pub cut_after: Option<usize>,
    /// Before each chunk, instead of the connector's.
    pub delay: Option<Duration>,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedToolCall {
    /// Its id; a counted one unless it is given.
    #[serde(default)]
    pub id: String,
    /// The tool.
    pub name: String,
    /// A value, or text as it is.
    #[serde(default)]
    pub arguments: Value,
}

/// A failure as a server would answer it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// The status.
    #[serde(default = "internal_server_error")]
    pub status: u16,
    /// What it says.
    #[serde(default)]
    pub message: String,
}

const fn internal_server_error() -> u16 {
    500
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleDefinition {
    #[serde(default, rename = "match")]
    matches: RuleMatch,
    reply: Option<String>,
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ScriptedToolCall>,
    json: Option<Value>,
    finish_reason: Option<String>,
    error: Option<ScriptedFailure>,
    cut_after: Option<usize>,
    delay: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleMatch {
    last_user: Option<String>,
    system: Option<String>,
    has_tool_result: Option<bool>,
    round: Option<usize>,
    tools: Option<Vec<String>>,
    times: Option<u64>,
}

impl ScriptedRule {
    /// Reads a rule; the error is what is wrong with it.
    pub fn read(rule: &Value) -> Result<Self, String> {
        let rule =
            RuleDefinition::deserialize(rule).map_err(|error| format!("is wrong: {error}"))?;
        let delay = rule.delay.as_ref().map(|delay| super::delay(Some(delay)));
        Ok(Self {
            last_user: pattern(rule.matches.last_user)?,
            system: pattern(rule.matches.system)?,
            has_tool_result: rule.matches.has_tool_result,
            round: rule.matches.round,
            tools: rule.matches.tools,
            times: rule.matches.times,
            used: AtomicU64::new(0),
            reply: rule.reply,
            reasoning: rule.reasoning,
            tool_calls: rule.tool_calls,
            json: rule.json,
            finish_reason: rule.finish_reason,
            error: rule.error,
            cut_after: rule.cut_after,
            delay: delay.transpose()?,
        })
    }

    /// Whether it answers. One that does is used once more.
    pub fn holds(&self, conversation: &ScriptedConversation<'_>) -> bool {
        let matches = |pattern: &Option<Regex>, text: &str| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(text))
        };
        let offered = |names: &Vec<String>| {
            let mut names = names.iter().map(String::as_str);
            names.all(|name| conversation.tools.contains(&name))
        };
        let holds = matches(&self.last_user, &conversation.last_user)
            && matches(&self.system, &conversation.system)
            && self
                .has_tool_result
                .is_none_or(|has| has == conversation.has_tool_result)
            && self.round.is_none_or(|round| round == conversation.round)
            && self.tools.as_ref().is_none_or(offered);
        holds && self.take()
    }

    fn take(&self) -> bool {
        let Some(times) = self.times else {
            return true;
        };
        let more = |used| (used < times).then_some(used + 1);
        let order = Ordering::Relaxed;
        self.used.try_update(order, order, more).is_ok()
    }
}

fn pattern(text: Option<String>) -> Result<Option<Regex>, String> {
    let read =
        |text: String| Regex::new(&text).map_err(|error| format!("has a wrong pattern: {error}"));
    text.map(read).transpose()
}
