//! Which agent is asked, and which model it may be asked to use.

use super::RequestParameters;
use crate::http::{ServerState, visible_agents};
use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::llm::ModelCapabilities;
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use std::sync::Arc;

/// What a body says of the agent.
#[derive(Default)]
pub struct AgentSelection {
    /// `assistant_id`.
    pub assistant: Option<String>,
    /// `model`: an agent or, if the agent is named otherwise, a connector.
    pub model: Option<String>,
    /// `options.connector`.
    pub connector: Option<String>,
}

/// The agent, and the connector that the client chose for it.
pub fn find_agent(
    server: &ServerState,
    who: &Authorized,
    given: &RequestParameters,
    named: AgentSelection,
) -> Result<(Arc<AppAgent>, Option<String>)> {
    let app = &server.runtime.app();
    let model = named
        .model
        .filter(|model| !model.is_empty() && model != "default");
    let elsewhere = match &given.assistant {
        Some(agent) => Some(agent.clone()),
        None => {
            let query = given.query.assistant_id.as_ref();
            let given = given.query_or_header(query.map(|id| &id.0), "assistant")?;
            given.or(named.assistant)
        }
    };
    let is_connector = |model: &str| app.connectors.contains_key(model);
    let is_named_apart = elsewhere.is_some();
    let (id, model) = match (elsewhere, model) {
        (Some(agent), model) => (agent, model),
        (None, Some(model)) => {
            let id = model
                .rsplit_once("-yao_")
                .map_or(model.as_str(), |(_, id)| id)
                .to_owned();
            match default(app).filter(|_| {
                is_connector(&model) && visible_agents::agent(server, app, who, &id).is_err()
            }) {
                Some(agent) => (agent, Some(model)),
                None => (id, None),
            }
        }
        (None, None) => (default(app).ok_or_else(nobody)?, None),
    };
    let agent = match is_named_apart {
        true => visible_agents::agent(server, app, who, &id)?,
        false => visible_agents::agent_of_model(server, app, who, &id)?,
    };
    let model =
        model.filter(|model| *model != agent.id && !model.ends_with(&format!("-yao_{}", agent.id)));
    let chosen = named.connector.filter(|chosen| !chosen.is_empty());
    let connector = chosen
        .map(|id| ("options.connector", id))
        .or(model.map(|id| ("model", id)));
    let Some((param, connector)) = connector else {
        return Ok((agent, None));
    };
    match is_allowed(app, &agent, &connector) {
        true => Ok((agent, Some(connector))),
        false => Err(not_allowed(param, &agent.id, &connector)),
    }
}

/// The agent of requests that name none.
fn default(app: &App) -> Option<String> {
    app.defaults.uses.get("default").cloned()
}

fn nobody() -> Error {
    let message =
        "no agent is named and the app has no default agent; name one in model or assistant_id";
    Error::new(ErrorCode::NotFound, message)
}

fn not_allowed(param: &str, agent: &str, connector: &str) -> Error {
    let message =
        format!("agent \"{agent}\" does not let clients choose the connector \"{connector}\"");
    Error::new(ErrorCode::ConnectorNotAllowed, message).with_param(param)
}

fn is_allowed(app: &App, agent: &AppAgent, id: &str) -> bool {
    let choice = &agent.package.connector_options;
    if !choice.optional {
        return false;
    }
    let Some(Ok(connector)) = app.connectors.get(id) else {
        return false;
    };
    let can = ModelCapabilities::of(connector);
    choice.connectors.iter().any(|known| known == id)
        || (choice.connectors.is_empty()
            && choice
                .filters
                .iter()
                .all(|name| can.has(name).unwrap_or(false)))
}
