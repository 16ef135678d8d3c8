//! `Create`, and what an agent is going to ask its model: package, request, call options and `Create`, the later ones first.

use super::Turn;
use super::agent_run::AgentRun;
use super::request_context::{CreatedServers, RequestContext};
use crate::app::AppAgent;
use crate::chat::{ChatMessage, GenerationOptions, ToolDefinition};
use crate::error::{Error, ErrorCode, Result};
use crate::hook::CreateResult;
use crate::journal::JournalStep;
use crate::llm::ModelCapabilities;
use crate::uses::UsesSettings;
use serde_json::Value;
use std::sync::Arc;

impl AgentRun {
    /// Calls `Create`, unless it has returned in an earlier attempt, and applies what it says of the rest of the turn.
    pub async fn create(&self, turn: &mut Turn) -> Result<CreateResult> {
        let created = match turn.journal.replay.created(self.index) {
            Some(created) => created.cloned().unwrap_or_default(),
            None => {
                let script = turn.script_context(self, "Create")?;
                let options = self.call.options(&turn.context.settings.metadata);
                let created = self.hooks.create(&script, &self.messages, options).await?;
                turn.journal.note(JournalStep::Created {
                    run: self.index,
                    created: created.clone().map(Box::new),
                })?;
                turn.context.reach_fault_point("turn.created");
                created.unwrap_or_default()
            }
        };
        let settings = &mut turn.context.settings;
        settings.apply(&created);
        let servers = created.mcp_servers.clone();
        settings.servers = servers.map(|servers| CreatedServers {
            run: self.index,
            servers: Arc::new(servers),
        });
        Ok(created)
    }
}

/// What an agent asks its model.
pub(super) struct ModelCallPlan {
    /// What the model is to see, if `Create` has replaced it.
    pub messages: Option<Vec<ChatMessage>>,
    /// Generation options.
    pub options: GenerationOptions,
    /// A connector's id, or `use::<role>`.
    pub connector: String,
    /// Tool servers.
    pub servers: Vec<Value>,
    /// Tools that the client runs.
    pub client_tools: Vec<ToolDefinition>,
    /// The prompts' preset.
    pub preset: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Whether the global prompts are left out.
    pub disable_global_prompts: bool,
    /// Who does the steps beside the model.
    pub uses: UsesSettings,
}

impl ModelCallPlan {
    pub fn new(context: &RequestContext, run: &AgentRun, created: CreateResult) -> Result<Self> {
        let agent = &run.agent;
        let uses = uses(context, run, &created);
        let mut options = agent.package.options.generation.clone();
        if run.index == 0 {
            options.merge(context.request.options.clone());
        }
        options.merge(created.options);
        let connector = created.connector.clone();
        let connector = match (connector, &run.call.connector) {
            (Some(connector), _) => connector,
            (None, Some(connector)) if run.index == 0 && !context.is_nested() => {
                may_choose(context, agent, connector)?;
                connector.clone()
            }
            (None, Some(connector)) => connector.clone(),
            (None, None) => agent.package.connector.clone(),
        };
        let mode = run.call.mode.clone();
        let mode = mode
            .or_else(|| Some(agent.package.default_mode.clone()).filter(|mode| !mode.is_empty()));
        Ok(Self {
            messages: created.messages.filter(|messages| !messages.is_empty()),
            options,
            connector,
            servers: created
                .mcp_servers
                .unwrap_or_else(|| agent.package.mcp.servers.clone()),
            client_tools: match context.request.tools.as_slice() {
                requested if run.index == 0 && !requested.is_empty() => requested.to_vec(),
                _ => agent.package.options.tools.clone(),
            },
            preset: created.prompt_preset,
            mode,
            disable_global_prompts: agent.package.disable_global_prompts
                || run.call.disable_global_prompts
                || created.disable_global_prompts.unwrap_or(false),
            uses,
        })
    }
}

/// Who does the steps beside the model. What a client sends among its options says nothing of that: it would choose what the
/// app runs.
fn uses(context: &RequestContext, run: &AgentRun, created: &CreateResult) -> UsesSettings {
    let (app, agent) = (&context.loaded.app.defaults, &run.agent);
    let uses = UsesSettings::default()
        .with(&app.uses, app.force_uses)
        .with(&agent.package.uses, agent.package.force_uses);
    let is_called_by_agent = run.index > 0 || context.is_nested();
    let uses = match is_called_by_agent {
        true => uses.with_options(&run.call.further),
        false => uses,
    };
    uses.with_given(&created.uses, created.force_uses)
}

/// Whether the client may choose this connector.
fn may_choose(context: &RequestContext, agent: &AppAgent, connector: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!("connector \"{connector}\" {why}");
        let mut error = Error::new(ErrorCode::ConnectorNotAllowed, message);
        error.param = Some("model".to_owned());
        Err(error)
    };
    let choice = &agent.package.connector_options;
    if !choice.optional {
        return refused("cannot be chosen: this agent has no connector_options");
    }
    let connectors = &choice.connectors;
    if !connectors.is_empty() && !connectors.iter().any(|id| id == connector) {
        return refused(&format!(
            "is not one of this agent's: {}",
            connectors.join(", ")
        ));
    }
    let Ok(connector) = context.loaded.app.connector(connector) else {
        return refused("cannot be chosen");
    };
    let capabilities = ModelCapabilities::of(&connector);
    for filter in &choice.filters {
        if !capabilities.has(filter)? {
            return refused(&format!(
                "does not offer {filter}, which this agent asks for"
            ));
        }
    }
    Ok(())
}
