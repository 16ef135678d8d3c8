//! The tools that an agent's servers offer its model, and how the servers are.

use crate::access::Authorized;
use crate::app::{App, AppAgent, TransportKind};
use crate::chat::ToolDefinition;
use crate::error::Result;
use crate::token_estimate::of_tools;
use crate::tool::{NoProcesses, ServerTool, ToolCaller, Toolbox, list_available};
use crate::trace::Trace;
use ambit_storage::ids;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// A server that does not answer within this time counts as away.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tools of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentToolList {
    /// What its model is offered of the servers that answer.
    pub items: Vec<AgentTool>,
    /// The servers that it names.
    pub servers: Vec<AgentServer>,
}

/// A tool.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentTool {
    /// What the model calls it.
    pub name: String,
    /// The server, as the agent's package names it: `$ENV.NAME` stays a name.
    pub server: String,
    /// What the server calls it.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// About how many tokens the model is told of it.
    pub tokens: u64,
}

/// A tool server of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentServer {
    /// The server, as the agent's package names it: `$ENV.NAME` stays a name.
    pub id: String,
    /// `process`, `stdio`, `http` or `sse`; `program` for functions of the program around the runtime, `unknown` where it is not there.
    pub transport: &'static str,
    /// `ready` or `error`.
    pub state: &'static str,
    /// Why it does not answer.
    #[schema(required)]
    pub error: Option<String>,
}

/// Asks the servers of an agent for what they offer, in the caller's name.
pub(crate) async fn list(
    app: &App,
    toolbox: &dyn Toolbox,
    who: &Authorized,
    agent: &AppAgent,
) -> Result<AgentToolList> {
    let caller = caller(who, agent);
    let named = &agent.package.mcp.servers;
    let available = list_available(toolbox, named, &caller).await?;
    let written = super::servers(app.written.of(&agent.package_file()));
    let mut items: Vec<_> = available.tools.into_iter().map(AgentTool::from).collect();
    for item in &mut items {
        let mut pairs = named.iter().zip(&written);
        if let Some((_, written)) = pairs.find(|(server, _)| server.id() == item.server) {
            item.server.clone_from(written);
        }
    }
    let servers = named.iter().zip(written).zip(available.failures);
    let servers = servers.map(|((server, written), failure)| {
        let (own, shown) = (quoted(server.id()), quoted(&written));
        AgentServer {
            transport: transport(app, agent, server.id()),
            state: if failure.is_none() { "ready" } else { "error" },
            error: failure.map(|error| error.message.replace(&own, &shown)),
            id: written,
        }
    });
    Ok(AgentToolList {
        items,
        servers: servers.collect(),
    })
}

/// A name as errors have it.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn caller(who: &Authorized, agent: &AppAgent) -> ToolCaller {
    let package = &agent.package;
    ToolCaller {
        authorized: who.clone(),
        agent: agent.id.clone(),
        servers: Arc::new(package.mcp.servers.clone()),
        request_id: ids::unguessable(),
        timeout: package.mcp.options.timeout.min(PATIENCE),
        node: Trace::off("").root(),
        processes: Arc::new(NoProcesses),
        progress: None,
    }
}

fn transport(app: &App, agent: &AppAgent, id: &str) -> &'static str {
    match app.server(&agent.id, id) {
        Ok(server) => server
            .settings
            .transport()
            .map_or("program", TransportKind::name),
        Err(_) => "unknown",
    }
}

impl From<ServerTool> for AgentTool {
    fn from(tool: ServerTool) -> Self {
        let parameters = tool.parameters.clone();
        let definition = ToolDefinition::function(&tool.name, &tool.description, parameters);
        Self {
            tokens: of_tools(&[definition]),
            name: tool.name,
            server: tool.server,
            tool: tool.tool,
            description: tool.description,
            parameters: tool.parameters,
        }
    }
}
