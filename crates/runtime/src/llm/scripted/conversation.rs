//! What rules look at: a call, read once.

use super::super::ModelCall;
use crate::chat::{ChatMessage, Role};
use ambit_storage::suggestion;
use serde_json::json;

/// What a reply may have in double braces, and what is put in for it.
const PLACEHOLDERS: &[ReplyPlaceholder] = &[
    ("last_user", |it| it.last_user.clone()),
    ("last_tool_result", |it| it.last_tool_result.clone()),
    ("system_match", |it| it.system_match.clone()),
    ("tool_names", |it| it.tools.join(", ")),
    ("message_count", |it| it.call.messages.len().to_string()),
    ("request", |it| json!(it.call).to_string()),
];

type ReplyPlaceholder = (&'static str, fn(&ScriptedConversation<'_>) -> String);

/// A call as rules see it.
pub struct ScriptedConversation<'a> {
    /// The call.
    pub call: &'a ModelCall,
    /// The text of the last message of the user.
    pub last_user: String,
    /// All instructions.
    pub system: String,
    /// What the rule's pattern has found in them: its first group, else all of it.
    pub system_match: String,
    /// The text of the last result of a tool.
    pub last_tool_result: String,
    /// Whether a tool has given a result since then.
    pub has_tool_result: bool,
    /// Rounds of tools since then.
    pub round: usize,
    /// The tools that are offered.
    pub tools: Vec<&'a str>,
}

impl<'a> ScriptedConversation<'a> {
    /// Reads a call.
    pub fn of(call: &'a ModelCall) -> Self {
        let messages = &call.messages;
        let last_user = messages
            .iter()
            .rposition(|message| message.role == Role::User);
        let since = &messages[last_user.map_or(0, |at| at + 1)..];
        let is_result = |message: &ChatMessage| message.role == Role::Tool;
        let last_result = messages.iter().rfind(|message| is_result(message));
        let is_system =
            |message: &&ChatMessage| matches!(message.role, Role::System | Role::Developer);
        let system = messages.iter().filter(is_system);
        let names = call.tools.iter().map(|tool| tool.name.as_str());
        Self {
            call,
            last_user: last_user.map(|at| text(&messages[at])).unwrap_or_default(),
            system: system.map(text).collect::<Vec<_>>().join("\n"),
            system_match: String::new(),
            last_tool_result: last_result.map(text).unwrap_or_default(),
            has_tool_result: since.iter().any(is_result),
            round: since
                .iter()
                .filter(|message| !message.tool_calls.is_empty())
                .count(),
            tools: names.filter(|name| !name.is_empty()).collect(),
        }
    }

    /// Calls of tools in the whole conversation.
    pub fn calls(&self) -> usize {
        let messages = self.call.messages.iter();
        messages.map(|message| message.tool_calls.len()).sum()
    }

    /// Words in the whole conversation.
    pub fn words(&self) -> usize {
        let texts = self.call.messages.iter().map(text);
        texts.map(|text| text.split_whitespace().count()).sum()
    }

    /// The template with its variables put in; what is put in is not looked at again.
    pub fn fill(&self, template: &str) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once("{{") {
            filled.push_str(before);
            let known = behind.split_once("}}").and_then(|(name, behind)| {
                let value = self.variable(name.trim())?;
                Some((value, behind))
            });
            match known {
                Some((value, behind)) => {
                    filled.push_str(&value);
                    rest = behind;
                }
                None => {
                    filled.push_str("{{");
                    rest = behind;
                }
            }
        }
        filled + rest
    }

    fn variable(&self, name: &str) -> Option<String> {
        let mut placeholders = PLACEHOLDERS.iter();
        let found = placeholders.find(|(known, _)| *known == name);
        found.map(|(_, value)| value(self))
    }
}

/// What is wrong with names in double braces for which nothing is put in.
pub fn unknown_placeholders(template: &str) -> impl Iterator<Item = String> {
    let known = || PLACEHOLDERS.iter().map(|(name, _)| *name);
    let behind = template.split("{{").skip(1);
    let names = behind.filter_map(|text| Some(text.split_once("}}")?.0.trim()));
    let is_name = |name: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty() && name.chars().all(is_letter)
    };
    let unknown = names.filter(move |name| is_name(name) && !known().any(|it| it == *name));
    unknown.map(move |name| {
        let hint = suggestion::hint(name, known());
        format!("nothing is put in for {{{{{name}}}}}{hint}")
    })
}

fn text(message: &ChatMessage) -> String {
    message.content.texts("\n")
}
