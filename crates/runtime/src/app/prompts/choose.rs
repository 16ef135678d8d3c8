//! Which prompts a turn begins with.

use crate::app::{App, AppAgent, Prompt};
use crate::chat::{BlockKind, BlockSource, ChatMessage, Role, role_named};
use ambit_storage::suggestion;

/// What a turn asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptChoice<'a> {
    /// `prompt_preset` of `Create`.
    pub preset: Option<&'a str>,
    /// The mode; the agent's own where the request names none.
    pub mode: Option<&'a str>,
    /// Whether the global prompts are left out, by the request or by `Create`.
    pub is_without_global: bool,
}

/// Prompts, in the order in which the model sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSelection<'a> {
    /// Those of all agents.
    pub global: &'a [Prompt],
    /// The agent's own, or a preset's. An agent without any has no prompts, whatever is global.
    pub own: &'a [Prompt],
    /// Whether they are a preset's.
    pub is_preset: bool,
    /// Something for the trace.
    pub warning: Option<String>,
}

impl<'a> PromptSelection<'a> {
    /// All of them in order.
    pub fn all(&self) -> impl Iterator<Item = &'a Prompt> + use<'a> {
        self.global.iter().chain(self.own)
    }

    /// What a model is told of all of them, which are filled in by now.
    pub fn messages(&self, filled: Vec<Prompt>) -> Vec<ChatMessage> {
        let messages = filled.into_iter().enumerate();
        let messages = messages.map(|(at, prompt)| {
            let role = role_named(&prompt.role).unwrap_or(Role::System);
            let message = ChatMessage {
                name: prompt.name,
                ..ChatMessage::new(role, prompt.content)
            };
            let kind = match (at < self.global.len(), self.is_preset) {
                (true, _) => BlockKind::Global,
                (false, true) => BlockKind::Preset,
                (false, false) => BlockKind::Prompt,
            };
            let source = BlockSource {
                file: Some(prompt.file),
                version: Some(prompt.version),
                index: Some(prompt.index),
                variables: prompt.variables,
                ..BlockSource::default()
            };
            message.with_source(kind, source)
        });
        messages.collect()
    }
}

/// Chooses: the preset that is asked for, else that of the mode, else the default prompts.
pub fn choose<'a>(
    app: &'a App,
    agent: &'a AppAgent,
    wish: &PromptChoice<'_>,
) -> PromptSelection<'a> {
    let is_without_global = wish.is_without_global || agent.package.disable_global_prompts;
    let global = if is_without_global {
        &[][..]
    } else {
        &app.prompts
    };
    let asked = wish.preset.filter(|key| !key.is_empty());
    let mode = wish.mode.filter(|mode| !mode.is_empty());
    let found = asked
        .or(mode)
        .or(Some(&agent.package.default_mode))
        .and_then(|key| agent.preset(key));
    let warning = asked.filter(|_| found.is_none()).map(|key| {
        let hint = suggestion::hint(key, agent.presets.keys().map(String::as_str));
        let agent = &agent.id;
        format!("agent \"{agent}\" has no prompt preset \"{key}\", so its default prompts are used{hint}")
    });
    PromptSelection {
        global,
        own: found.unwrap_or(&agent.prompts),
        is_preset: found.is_some(),
        warning,
    }
}

impl AppAgent {
    /// The prompts of a preset; `chat` also finds `chat/prompts.yml`.
    pub fn preset(&self, key: &str) -> Option<&[Prompt]> {
        let found = self.presets.get(key);
        let found = found.or_else(|| self.presets.get(&format!("{key}.prompts")));
        found.map(Vec::as_slice)
    }
}
