//! What goes to the model in front of the messages: prompts with their variables replaced.

use super::Turn;
use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use crate::app::prompts::{self, PromptChoice, PromptVariables};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The instructions of an agent for this call.
pub(super) struct AgentInstructions {
    pub messages: Vec<Value>,
    /// Whether any are the agent's own.
    pub has_own: bool,
}

pub(super) fn instructions(turn: &Turn, leg: &AgentRun, plan: &ModelCallPlan) -> AgentInstructions {
    let app = &turn.loaded.app;
    let wish = PromptChoice {
        preset: plan.preset.as_deref(),
        mode: plan.mode.as_deref(),
        is_without_global: plan.disable_global_prompts,
    };
    let chosen = prompts::choose(app, &leg.agent, &wish);
    let words = app.words(&leg.agent, &turn.settings.locale);
    let filled = prompts::fill(chosen.all(), &values(turn, leg), &words);
    for warning in chosen.warning.iter().chain(&filled.warnings) {
        turn.warn(warning);
    }
    let changed = turn.settings.instructions.as_ref();
    if let (Some(messages), 0, None) = (changed, leg.index, &plan.preset) {
        return AgentInstructions {
            messages: messages.clone(),
            has_own: !chosen.own.is_empty(),
        };
    }
    let messages = filled.prompts.into_iter().map(|prompt| {
        let mut message = json!({"role": prompt.role, "content": prompt.content});
        if let Some(name) = prompt.name {
            message["name"] = name.into();
        }
        message
    });
    AgentInstructions {
        messages: messages.collect(),
        has_own: !chosen.own.is_empty(),
    }
}

fn values(turn: &Turn, leg: &AgentRun) -> PromptVariables {
    let authorized = &turn.request.authorized;
    let or_empty = |id: &Option<String>| id.clone().unwrap_or_default();
    let agent = &leg.agent;
    let kind = if agent.is_worker {
        "worker"
    } else {
        "assistant"
    };
    let context = [
        ("ASSISTANT_ID", agent.id.clone()),
        ("ASSISTANT_NAME", agent.name.clone()),
        ("ASSISTANT_DESCRIPTION", agent.description.clone()),
        ("ASSISTANT_TYPE", kind.to_owned()),
        ("CHAT_ID", turn.ids.chat_id.clone()),
        ("LOCALE", turn.settings.locale.clone()),
        ("THEME", turn.settings.theme.clone()),
        ("ROUTE", turn.settings.route.clone()),
        ("REFERER", leg.referer(turn)),
        ("CLIENT_TYPE", turn.request.origin.client.kind.clone()),
        ("USER_ID", or_empty(&authorized.user_id)),
        ("TEAM_ID", or_empty(&authorized.team_id)),
        ("TENANT_ID", or_empty(&authorized.tenant_id)),
    ];
    PromptVariables {
        now: jiff::Timestamp::from_millisecond(turn.now()).unwrap_or_default(),
        zone: Some(TimeZone::system()),
        context: BTreeMap::from(context),
        metadata: turn.settings.metadata.clone(),
        environment: turn.loaded.app.prompt_variables(),
    }
}
