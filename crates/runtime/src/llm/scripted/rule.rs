//! A rule: when it holds, and what it does.

use super::conversation::{ScriptedConversation, unknown_placeholders};
use crate::config;
use crate::config::{Setting, ValueKind};
use regex::Regex;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

config! {
    /// A rule of a scripted model.
    pub struct RuleSettings {
        /// When the rule holds; all must be true.
        #[key = "match"]
        conditions: RuleConditions,
        /// The text, with `{{last_user}}`, `{{last_tool_result}}`, `{{system_match}}`, `{{tool_names}}`, `{{message_count}}` and `{{request}}`.
        reply: Option<String>,
        /// The thoughts.
        reasoning: Option<String>,
        /// Calls of tools.
        tool_calls: Vec<RuleToolCall>,
        /// A value that is the text.
        json: Option<Value>,
        /// Why the answer ends.
        finish_reason: Option<String>,
        /// A failure in place of an answer.
        error: Option<RuleFailure>,
        /// After so many pieces the answer breaks off.
        cut_after: Option<usize>,
        /// How long each piece takes.
        delay: Option<ChunkDelay>,
    }

    /// When a rule holds.
    pub struct RuleConditions {
        /// What the user's last text matches.
        last_user: Option<String> as ValueKind::Pattern,
        /// What the instructions match.
        system: Option<String> as ValueKind::Pattern,
        /// Whether the last message is a tool's result.
        has_tool_result: Option<bool>,
        /// How many rounds of tools there were.
        round: Option<usize>,
        /// The tools that are offered.
        tools: Option<Vec<String>>,
        /// How often the rule is used at most.
        times: Option<u64>,
    }

    /// A call of a tool.
    pub struct RuleToolCall {
        /// The tool.
        #[required]
        name: String,
        /// The call's id; a counted one without it.
        id: String,
        /// The arguments.
        arguments: Value,
    }

    /// A failure as a server would answer it.
    pub struct RuleFailure {
        /// The status.
        status: u16 = 500,
        /// What it says.
        message: String,
    }
}

impl RuleSettings {
    /// What is wrong with the placeholders of its reply.
    pub fn reply_faults(&self) -> impl Iterator<Item = String> {
        let reply = self.reply.as_deref().unwrap_or_default();
        unknown_placeholders(reply)
    }
}

/// How long a piece of an answer takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkDelay(pub Duration);

/// A rule without a delay says so by 0.
impl Setting for ChunkDelay {
    const KIND: ValueKind = Duration::KIND;

    fn read(value: Value) -> Option<Self> {
        Some(Self(Duration::read(value).unwrap_or_default()))
    }
}

/// A rule that can be asked.
pub struct ScriptedRule {
    /// What it says.
    pub settings: RuleSettings,
    last_user: Option<Regex>,
    system: Option<Regex>,
    used: AtomicU64,
}

impl ScriptedRule {
    /// The rule of a file; the error is what is wrong with it.
    pub fn new(settings: &RuleSettings) -> Result<Self, String> {
        Ok(Self {
            last_user: compile_pattern(settings.conditions.last_user.as_deref())?,
            system: compile_pattern(settings.conditions.system.as_deref())?,
            settings: settings.clone(),
            used: AtomicU64::new(0),
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
        let when = &self.settings.conditions;
        let holds = matches(&self.last_user, &conversation.last_user)
            && matches(&self.system, &conversation.system)
            && when
                .has_tool_result
                .is_none_or(|has| has == conversation.has_tool_result)
            && when.round.is_none_or(|round| round == conversation.round)
            && when.tools.as_ref().is_none_or(offered);
        holds && self.take()
    }

    /// What the pattern `system` finds: its first group, else all of it.
    pub fn system_match(&self, conversation: &ScriptedConversation<'_>) -> String {
        let found = self.system.as_ref();
        let found = found.and_then(|pattern| pattern.captures(&conversation.system));
        let found = found.and_then(|found| found.get(1).or_else(|| found.get(0)));
        found.map_or_else(String::new, |found| found.as_str().to_owned())
    }

    fn take(&self) -> bool {
        let Some(times) = self.settings.conditions.times else {
            return true;
        };
        let more = |used| (used < times).then_some(used + 1);
        let order = Ordering::Relaxed;
        self.used.try_update(order, order, more).is_ok()
    }
}

fn compile_pattern(text: Option<&str>) -> Result<Option<Regex>, String> {
    let read =
        |text: &str| Regex::new(text).map_err(|error| format!("has a wrong pattern: {error}"));
    text.map(read).transpose()
}
