//! Which agent is asked, and which model it may be asked to use.

use super::Given;
use crate::http::{Server, visible};
use ambit_runtime::app::{Agent, App};
use ambit_runtime::llm::Capabilities;
use ambit_runtime::{Authorized, Code, Error, Result};
use serde_json::Value;
use std::sync::Arc;

/// What a body says of the agent.
pub struct Named {
    /// `assistant_id`.
    pub assistant: Option<String>,
    /// `model`: an agent or, if the agent is named otherwise, a connector.
    pub model: Option<String>,
    /// `options.connector`.
    pub connector: Option<String>,
}

/// The agent, and the connector that the client chose for it.
pub fn find(
    server: &Server,
    who: &Authorized,
    given: &Given,
    named: Named,
) -> Result<(Arc<Agent>, Option<String>)> {
    let app = &server.runtime.app();
    let model = named
        .model
        .filter(|model| !model.is_empty() && model != "default");
    let elsewhere = match &given.assistant {
        Some(agent) => Some(agent.clone()),
        None => given.pick("assistant_id", "assistant")?.or(named.assistant),
    };
    let is_connector = |model: &str| app.connectors.contains_key(model);
    let (id, model) = match (elsewhere, model) {
        (Some(agent), model) => (agent, model),
        (None, Some(model)) => {
            let id = model
                .rsplit_once("-yao_")
                .map_or(model.as_str(), |(_, id)| id)
                .to_owned();
            match default(app)
                .filter(|_| is_connector(&model) && visible::agent(server, app, who, &id).is_err())
            {
                Some(agent) => (agent, Some(model)),
                None => (id, None),
            }
        }
        (None, None) => (default(app).ok_or_else(nobody)?, None),
    };
    let agent = visible::agent(server, app, who, &id)?;
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
    app.defaults
        .uses
        .get("default")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn nobody() -> Error {
    let message =
        "no agent is named and the app has no default agent; name one in model or assistant_id";
    Error::new(Code::NotFound, message)
}

fn not_allowed(param: &str, agent: &str, connector: &str) -> Error {
    let message =
        format!("agent \"{agent}\" does not let clients choose the connector \"{connector}\"");
    let mut error = Error::new(Code::ConnectorNotAllowed, message);
    error.param = Some(param.to_owned());
    error
}

fn is_allowed(app: &App, agent: &Agent, id: &str) -> bool {
    let Some(choice) = &agent.choice else {
        return false;
    };
    let Some(Ok(connector)) = app.connectors.get(id) else {
        return false;
    };
    let can = Capabilities::of(connector);
    choice.connectors.iter().any(|known| known == id)
        || (choice.connectors.is_empty()
            && choice
                .filters
                .iter()
                .all(|name| can.has(name).unwrap_or(false)))
}
