//! Which agents a caller may use.

use ambit_runtime::app::{Agent, App, Share};
use ambit_runtime::{Authorized, Error, Result};
use std::sync::Arc;

/// The agent with this id, for this caller; one they may not see is one that is not there.
pub fn agent(app: &App, who: &Authorized, id: &str) -> Result<Arc<Agent>> {
    let missing = || Error::not_found("agent", id);
    let found = app.agents.get(id).ok_or_else(missing)?;
    let agent = found.as_ref().map_err(|problem| {
        let message = format!("agent \"{id}\" cannot be used: {problem}");
        Error::new(ambit_runtime::Code::ConfigError, message)
    })?;
    is_visible(app, who, agent)
        .then(|| agent.clone())
        .ok_or_else(missing)
}

/// All agents of this caller, by id.
pub fn agents<'a>(app: &'a App, who: &'a Authorized) -> impl Iterator<Item = &'a Arc<Agent>> {
    let usable = app.agents.values().filter_map(|agent| agent.as_ref().ok());
    usable.filter(|agent| is_visible(app, who, agent))
}

fn is_visible(app: &App, who: &Authorized, agent: &Agent) -> bool {
    let is_same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
    let is_foreign = agent
        .tenant
        .as_deref()
        .is_some_and(|tenant| tenant != who.tenant());
    if agent.is_worker || is_foreign {
        return false;
    }
    let is_shared = match agent.share.or(app.settings.visibility) {
        Some(Share::Public) => true,
        Some(Share::Team) => is_same(&agent.team, &who.team_id),
        Some(Share::Private) | None => false,
    };
    is_shared || who.constraints.is_none() || is_same(&agent.owner, &who.user_id)
}
