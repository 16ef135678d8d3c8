//! Which agents a caller may use over HTTP.

use super::ServerState;
use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::{Authorized, Error, Result};
use ambit_storage::suggestion;
use std::sync::Arc;

/// The agent with this id, for this caller; one they may not see is one that is not there, and only the log says so. Meant may be
/// only one that they see.
pub fn agent(server: &ServerState, app: &App, who: &Authorized, id: &str) -> Result<Arc<AppAgent>> {
    agent_or(server, app, who, id, String::new)
}

/// The same where a request names it as its model: who sends the name of a model is told what is meant by it.
pub fn agent_of_model(
    server: &ServerState,
    app: &App,
    who: &Authorized,
    id: &str,
) -> Result<Arc<AppAgent>> {
    agent_or(server, app, who, id, || {
        let base = &server.settings.base;
        format!("; \"model\" names an agent, and GET {base}/models lists those that you see")
    })
}

/// The agent; where none is there and none of this caller's has a name like it, the error says `otherwise`.
fn agent_or(
    server: &ServerState,
    app: &App,
    who: &Authorized,
    id: &str,
    otherwise: impl Fn() -> String,
) -> Result<Arc<AppAgent>> {
    let missing = || {
        let known = agents(server, app, who);
        let known = known.iter().map(|agent| agent.id.as_str());
        let hint = suggestion::hint(id, known);
        let mut error = Error::not_found("agent", id);
        error.message += &if hint.is_empty() { otherwise() } else { hint };
        error
    };
    let found = app.agents.get(id).ok_or_else(missing)?;
    let agent = found
        .as_ref()
        .map_err(|problem| problem.for_user("agent", id))?;
    if is_visible(server, app, who, agent) {
        return Ok(agent.clone());
    }
    let why = match agent.is_worker() {
        true => "a worker is called by other agents alone",
        false => {
            "\"public\": true in its package.yao, or ambit.visibility in app.yao, shows it to every caller"
        }
    };
    tracing::info!(agent.id = %agent.id, "the agent exists, but the caller may not see it: {why}");
    Err(missing())
}

/// All agents of this caller, by id.
pub fn agents(server: &ServerState, app: &App, who: &Authorized) -> Vec<Arc<AppAgent>> {
    let usable = app.agents.values().filter_map(|agent| agent.as_ref().ok());
    let visible = usable.filter(|agent| is_visible(server, app, who, agent));
    visible.cloned().collect()
}

/// A worker is called by other agents alone. Agents that say nothing are for all only where everybody is the developer; files
/// that are reloaded as they change say nothing of who is calling.
fn is_visible(server: &ServerState, app: &App, who: &Authorized, agent: &AppAgent) -> bool {
    !agent.is_worker() && app.visible(agent, who, server.auth.is_development())
}
