//! `Create`, and what an agent is going to ask its model.

use super::Turn;
use super::agent_run::AgentRun;
use super::recent_messages;
use super::request_context::{CreatedServers, RequestContext};
use crate::app::{App, AppAgent, PackageFile};
use crate::chat::{ChatMessage, LayeredValues, OptionLayer, overrule};
use crate::error::{Error, ErrorCode, Result};
use crate::hook::CreateResult;
use crate::journal::JournalStep;
use crate::llm::ModelCapabilities;
use crate::request::{CallOptions, LayeredCallOptions};
use crate::tool::ServerSelection;
use std::collections::BTreeMap;
use std::sync::Arc;

impl AgentRun {
    /// Calls `Create`, unless it has returned in an earlier attempt, and applies what it says of the rest of the turn.
    pub async fn create(&self, turn: &mut Turn) -> Result<CreateResult> {
        let created = match turn.journal.replay.created(self.index) {
            Some(created) => created.cloned().unwrap_or_default(),
            None => {
                if self.index == 0 {
                    turn.replace_shared_state().await?;
                }
                let script = turn.script_context(self, "Create")?;
                let options = self.hook_options(&turn.context.settings.metadata);
                let limits = &self.hooks.limits().run;
                let given = recent_messages::for_hook(&self.messages, limits, &turn.output);
                let created = self.hooks.create(&script, &given, options).await?;
                // Before the note: from then on any step of the stream may store it.
                turn.context.reach_fault_point("turn.created");
                turn.journal.note(JournalStep::Created {
                    run: self.index,
                    created: created.clone().map(Box::new),
                })?;
                created.unwrap_or_default()
            }
        };
        let settings = &mut turn.context.settings;
        settings.apply(&created);
        let servers = created.call.mcp_servers.clone();
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
    /// All that is said of the call.
    pub call: CallOptions,
    /// Who has said what of its settings.
    pub settings: LayeredValues,
    /// Who has said what of how the answer is to be generated.
    pub options: LayeredValues,
}

impl ModelCallPlan {
    /// What app, package, whoever called the agent, and `Create` say, of which the later ones count.
    pub fn new(context: &RequestContext, run: &AgentRun, created: CreateResult) -> Result<Self> {
        let is_chosen_by_client = run.index == 0 && !context.is_nested();
        if let (true, None, Some(connector)) = (
            is_chosen_by_client,
            &created.call.connector,
            &run.call.connector,
        ) {
            may_choose(context, &run.agent, connector)?;
        }
        let layer = match is_chosen_by_client {
            true => OptionLayer::Request,
            false => OptionLayer::Call,
        };
        let mut layered = LayeredCallOptions::default();
        layered.merge(OptionLayer::Package, of_app(&context.loaded.app));
        layered.merge(OptionLayer::Package, of_package(&run.agent.package));
        layered.merge(layer, run.call.clone());
        layered.merge(OptionLayer::Create, created.call);
        let mut plan = Self::of(layered);
        plan.add_locale(context, layer);
        plan.messages = created.messages.filter(|messages| !messages.is_empty());
        if context.settings.omits_client_tools {
            plan.call.tools.clear();
        }
        Ok(plan)
    }

    /// What layers say, and nothing else.
    pub fn of(layered: LayeredCallOptions) -> Self {
        let LayeredCallOptions {
            call,
            settings,
            options,
        } = layered;
        Self {
            messages: None,
            call,
            settings,
            options,
        }
    }

    /// The language, which `Create` of this agent or of one before it may have changed.
    fn add_locale(&mut self, context: &RequestContext, layer: OptionLayer) {
        let (now, asked) = (&context.settings.locale, &context.request.origin.locale);
        let locales = [(layer, asked), (OptionLayer::Create, now)];
        let is_changed = now != asked;
        for (layer, locale) in locales.into_iter().take(1 + usize::from(is_changed)) {
            if !locale.is_empty() {
                overrule(&mut self.settings, layer, "locale", locale.as_str().into());
            }
        }
    }

    /// A connector's id, or `use::<role>`.
    pub fn connector(&self) -> &str {
        self.call.connector.as_deref().unwrap_or_default()
    }

    /// The tool servers.
    pub fn servers(&self) -> &[ServerSelection] {
        self.call.mcp_servers.as_deref().unwrap_or_default()
    }
}

/// Who does which step beside the model for an agent: the same levels, as far as `Create` has returned.
pub(super) fn uses(
    context: &RequestContext,
    run: &AgentRun,
    created: Option<&CreateResult>,
) -> BTreeMap<String, String> {
    let created = created.map(|created| created.call.uses.clone());
    let levels = [
        context.loaded.app.defaults.uses.clone(),
        run.agent.package.uses.clone(),
        run.call.uses.clone(),
        created.unwrap_or_default(),
    ];
    let levels = levels.into_iter().map(|uses| CallOptions {
        uses,
        ..CallOptions::default()
    });
    levels.fold(CallOptions::default(), CallOptions::merge).uses
}

fn of_app(app: &App) -> CallOptions {
    CallOptions {
        uses: app.defaults.uses.clone(),
        force_uses: app.defaults.force_uses,
        ..CallOptions::default()
    }
}

fn of_package(package: &PackageFile) -> CallOptions {
    let mode = &package.default_mode;
    CallOptions {
        connector: Some(package.connector.clone()),
        mode: (!mode.is_empty()).then(|| mode.clone()),
        disable_global_prompts: Some(package.disable_global_prompts),
        generation: package.options.generation.clone(),
        tools: package.options.tools.clone(),
        mcp_servers: Some(package.mcp.servers.clone()),
        uses: package.uses.clone(),
        force_uses: package.force_uses,
        ..CallOptions::default()
    }
}

/// Whether the client may choose this connector.
fn may_choose(context: &RequestContext, agent: &AppAgent, connector: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!("connector \"{connector}\" {why}");
        Err(Error::new(ErrorCode::ConnectorNotAllowed, message).with_param("model"))
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
