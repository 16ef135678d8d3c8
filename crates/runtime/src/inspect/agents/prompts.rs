//! What an agent's model would be told first, for a mode, a preset, a language and metadata.

use crate::access::Authorized;
use crate::app::prompts::{self, PromptChoice, PromptSelection, PromptVariables};
use crate::app::{App, AppAgent};
use crate::chat::{BlockKind, BlockSource, ChatMessage, role_name};
use crate::error::Result;
use crate::token_estimate::of_message;
use ambit_storage::clock::Millis;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// For which request prompts are filled in.
#[derive(Clone, Debug, Default)]
pub struct PromptOccasion {
    /// The mode; the agent's own where none is named.
    pub mode: Option<String>,
    /// The preset, as `Create` names it.
    pub preset: Option<String>,
    /// The language.
    pub locale: String,
    /// What the request says beside its messages.
    pub metadata: Map<String, Value>,
    /// When.
    pub now: Millis,
}

/// The prompts as the model gets them.
#[derive(Debug, Serialize, ToSchema)]
pub struct RenderedPrompts {
    /// In order. Variables of the environment stay names: `$ENV.NAME`.
    pub messages: Vec<RenderedPrompt>,
    /// What could not be filled in, or has no effect.
    pub warnings: Vec<String>,
}

/// A prompt with its variables filled in.
#[derive(Debug, Serialize, ToSchema)]
pub struct RenderedPrompt {
    /// `system`, `developer`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// About how many tokens it has.
    pub tokens: u64,
    /// `global` for all agents, `preset`, or `prompt` where there is no preset.
    pub kind: BlockKind,
    /// The file that it is written in, and which of the file's prompts it is.
    pub source: BlockSource,
}

/// Fills in the prompts of an agent for this caller. Nothing is run or stored for it.
pub(crate) fn render(
    app: &App,
    who: &Authorized,
    id: &str,
    occasion: &PromptOccasion,
) -> Result<RenderedPrompts> {
    let agent = app.agent(id)?;
    let choice = PromptChoice {
        preset: occasion.preset.as_deref(),
        mode: occasion.mode.as_deref(),
        is_without_global: false,
    };
    let chosen = prompts::choose(app, &agent, &choice);
    let variables = variables(app, &agent, who, occasion);
    let words = app.words(&agent, &occasion.locale);
    let filled = prompts::fill(chosen.all(), &variables, &words);
    let messages = chosen.messages(filled.prompts);
    let unasked = is_unasked(&agent, &chosen).then(|| {
        "the agent has neither prompts nor tools, so its model is not asked unless a request brings them".to_owned()
    });
    let warnings = chosen.warning.into_iter().chain(filled.warnings);
    Ok(RenderedPrompts {
        messages: messages.iter().map(RenderedPrompt::of).collect(),
        warnings: warnings.chain(unasked).collect(),
    })
}

fn variables(
    app: &App,
    agent: &AppAgent,
    who: &Authorized,
    occasion: &PromptOccasion,
) -> PromptVariables {
    let mut variables = PromptVariables::of(app, agent, who, occasion.now);
    let locale = ("LOCALE", occasion.locale.clone());
    variables.context.extend([locale]);
    variables.metadata.clone_from(&occasion.metadata);
    let written = app.written.of(&agent.package_file());
    for (name, key) in [
        ("ASSISTANT_NAME", "name"),
        ("ASSISTANT_DESCRIPTION", "description"),
    ] {
        if let Some(text) = written[key].as_str() {
            variables.context.insert(name, text.to_owned());
        }
    }
    for (name, value) in &mut variables.environment {
        *value = format!("$ENV.{name}");
    }
    variables
}

fn is_unasked(agent: &AppAgent, chosen: &PromptSelection<'_>) -> bool {
    let package = &agent.package;
    chosen.own.is_empty() && package.mcp.servers.is_empty() && package.options.tools.is_empty()
}

impl RenderedPrompt {
    fn of(message: &ChatMessage) -> Self {
        Self {
            role: role_name(message.role).to_owned(),
            content: message.content.texts(""),
            tokens: of_message(message),
            kind: message.origin.kind().unwrap_or(BlockKind::Prompt),
            source: message.origin.source(),
        }
    }
}
