//! What goes to the model in front of the messages: prompts with their variables replaced.

use super::Turn;
use super::leg::Leg;
use super::plan::Plan;
use crate::app::prompts::{self, Choice, Values};
use serde_json::{Value, json};

/// The instructions of an agent for this call, and whether any of them are its own.
pub(super) struct Instructions {
    pub messages: Vec<Value>,
    pub has_own: bool,
}

pub(super) fn instructions(turn: &Turn, leg: &Leg, plan: &Plan) -> Instructions {
    let app = &turn.loaded.app;
    let choice = Choice {
        preset: plan.preset.as_deref(),
        mode: plan.mode.as_deref(),
        without_global: plan.disable_global_prompts,
    };
    let chosen = prompts::choose(app, &leg.agent, &choice);
    for warning in &chosen.warnings {
        turn.trace.warn(warning);
    }
    let values = values(turn, leg);
    let filled = |prompt: &crate::app::Prompt| {
        let content = prompts::fill(app, &leg.agent, &prompt.content, &values);
        let mut message = json!({"role": prompt.role, "content": content});
        if let Some(name) = &prompt.name {
            message["name"] = name.clone().into();
        }
        message
    };
    Instructions {
        messages: chosen.prompts.iter().map(filled).collect(),
        has_own: chosen.has_own,
    }
}

fn values(turn: &Turn, leg: &Leg) -> Values {
    let authorized = &turn.request.authorized;
    let or_empty = |id: &Option<String>| id.clone().unwrap_or_default();
    Values {
        now: turn.core.stores.options().clock.now(),
        chat_id: turn.ids.chat_id.clone(),
        locale: turn.settings.locale.clone(),
        theme: turn.settings.theme.clone(),
        route: turn.settings.route.clone(),
        referer: leg.referer(turn),
        client_type: turn.request.origin.client.kind.clone(),
        user_id: or_empty(&authorized.user_id),
        team_id: or_empty(&authorized.team_id),
        tenant_id: or_empty(&authorized.tenant_id),
        metadata: turn.settings.metadata.clone(),
    }
}
