//! Tools as a turn sees them: a list for the model, and calls that end in a result.

use crate::access::Authorized;
use crate::error::Result;
use async_trait::async_trait;
use serde_json::Value;
use std::time::Duration;

/// Gives an agent the tools of its servers.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// The tools of these servers, each a server's `"id"` or an object as in `mcp.servers` of a package.
    async fn list(&self, servers: &[Value], caller: &Caller) -> Result<Vec<Tool>>;

    /// Calls a tool. `Err` is a failure of the server; what the tool itself says went wrong is an `Outcome` with `is_error`.
    async fn call(&self, tool: &Tool, arguments: Value, caller: &Caller) -> Result<Outcome>;
}

/// For whom tools are listed and called.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who asks.
    pub authorized: Authorized,
    /// The agent at work.
    pub agent: String,
    /// The turn.
    pub request_id: String,
    /// How long one call may take.
    pub timeout: Duration,
}

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// What the model calls it; unique in a list.
    pub name: String,
    /// The server.
    pub server: String,
    /// What the server calls it.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What scripts get.
    pub data: Value,
    /// What the model gets.
    pub text: String,
    /// The tool failed.
    pub is_error: bool,
}

/// No tools at all.
#[derive(Debug)]
pub struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    async fn list(&self, servers: &[Value], _caller: &Caller) -> Result<Vec<Tool>> {
        match servers.first() {
            None => Ok(Vec::new()),
            Some(server) => {
                let id = server.get("server_id").unwrap_or(server).as_str();
                let key = || server.as_object()?.keys().next().map(String::as_str);
                let id = id.or_else(key).unwrap_or_default();
                let message = format!("unknown MCP server \"{id}\"");
                Err(crate::Error::new(crate::Code::ConfigError, message))
            }
        }
    }

    async fn call(&self, tool: &Tool, _arguments: Value, _caller: &Caller) -> Result<Outcome> {
        Err(crate::Error::not_found("tool", &tool.name))
    }
}
