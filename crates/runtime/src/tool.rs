//! Tools as a turn sees them: a list for the model, and calls that end in a result.

mod progress;
mod sample;
mod server;
mod server_list;
mod server_selection;

pub use progress::{ProgressListener, ProgressReader, ToolProgress};
pub use sample::McpSample;
pub use server::{SendToolFn, ToolFn, ToolServer};
pub use server_list::{McpLists, McpPrompt, McpPromptArgument, McpResource, McpTool};
pub use server_selection::ServerSelection;

use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result, ServerFailure};
use crate::trace::TraceNode;
use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use std::fmt;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// Gives an agent the tools of its servers.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// The tools of these servers.
    async fn list(
        &self,
        servers: &[ServerSelection],
        caller: &ToolCaller,
    ) -> Result<Vec<ServerTool>>;

    /// Calls a tool. `Err` is a failure of the server; what the tool itself says went wrong is an `ToolOutcome` with `is_error`.
    /// Dropping the future cancels the call.
    async fn call(
        &self,
        tool: &ServerTool,
        arguments: Value,
        caller: &ToolCaller,
    ) -> Result<ToolOutcome>;
}

/// Runs the processes of an app for one run, which scripts among them get as their live `ctx`.
pub trait ProcessCaller: Send + Sync {
    /// Runs a process. Dropping the future stops it.
    fn run<'a>(&'a self, process: &'a str, arguments: Vec<Value>) -> BoxFuture<'a, Result<Value>>;
}

/// For whom tools are listed and called.
#[derive(Clone)]
pub struct ToolCaller {
    /// Who asks.
    pub authorized: Authorized,
    /// The agent at work.
    pub agent: String,
    /// The turn.
    pub request_id: String,
    /// What the agent says of its servers, as in `mcp.servers`. It binds the agent's scripts too.
    pub servers: Arc<Vec<ServerSelection>>,
    /// How long one call may take.
    pub timeout: Duration,
    /// Where calls are traced. A server that may know is told so.
    pub node: TraceNode,
    /// What runs processes for this run.
    pub processes: Arc<dyn ProcessCaller>,
    /// Who is told how far a call has come.
    pub progress: Option<ProgressListener>,
}

impl fmt::Debug for ToolCaller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut caller = out.debug_struct("ToolCaller");
        caller
            .field("authorized", &self.authorized)
            .field("agent", &self.agent);
        caller
            .field("request_id", &self.request_id)
            .field("timeout", &self.timeout);
        caller.finish_non_exhaustive()
    }
}

/// One tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTool {
    /// What the model calls it; unique in a list.
    pub name: String,
    /// The server, as the agent names it.
    pub server: String,
    /// What the server calls it.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// Examples of calls.
    pub samples: Vec<McpSample>,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutcome {
    /// What scripts get.
    pub data: Value,
    /// What the model gets.
    pub text: String,
    /// How many bytes of the result it does not get.
    pub cut: usize,
    /// The tool failed.
    pub is_error: bool,
    /// Its server failed, so that the tool has said nothing.
    pub server_failure: Option<ServerFailure>,
    /// What the trace says of it.
    pub warnings: Vec<String>,
}

impl ToolOutcome {
    /// A call that has failed, and why.
    pub fn failed(text: String) -> Self {
        Self {
            text,
            is_error: true,
            ..Self::default()
        }
    }
}

/// The tools of the servers that answer.
pub(crate) struct AvailableTools {
    /// The tools.
    pub tools: Vec<ServerTool>,
    /// Of each server why it does not answer, if it does not.
    pub failures: Vec<Option<Error>>,
}

/// Asks each server for its tools, whether or not others answer.
pub(crate) async fn list_available(
    toolbox: &dyn Toolbox,
    servers: &[ServerSelection],
    caller: &ToolCaller,
) -> Result<AvailableTools> {
    let asked = servers.iter();
    let asked = asked.map(|server| toolbox.list(slice::from_ref(server), caller));
    let lists = join_all(asked).await.into_iter();
    let failures: Vec<Option<Error>> = lists.map(Result::err).collect();
    let ready = servers.iter().zip(&failures);
    let ready = ready.filter(|(_, failure)| failure.is_none());
    let ready: Vec<ServerSelection> = ready.map(|(server, _)| server.clone()).collect();
    // Names are given to all of a list at once.
    let tools = toolbox.list(&ready, caller).await?;
    Ok(AvailableTools { tools, failures })
}

/// Calls a tool; one that does not answer in the caller's time has failed.
pub(crate) async fn call_in_time(
    toolbox: &dyn Toolbox,
    tool: &ServerTool,
    arguments: Value,
    caller: &ToolCaller,
) -> Result<ToolOutcome> {
    let called = tokio::time::timeout(caller.timeout, toolbox.call(tool, arguments, caller)).await;
    called.unwrap_or_else(|_| {
        let (name, time) = (&tool.name, caller.timeout.as_secs_f64());
        let message = format!("{name} has not answered within {time} s");
        Err(Error::new(ErrorCode::Timeout, message))
    })
}

/// No tools at all.
#[derive(Debug)]
pub struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    async fn list(
        &self,
        servers: &[ServerSelection],
        _caller: &ToolCaller,
    ) -> Result<Vec<ServerTool>> {
        match servers.first() {
            None => Ok(Vec::new()),
            Some(server) => {
                let message = format!("unknown MCP server \"{}\"", server.id());
                Err(Error::new(ErrorCode::ConfigError, message))
            }
        }
    }

    async fn call(
        &self,
        tool: &ServerTool,
        _arguments: Value,
        _caller: &ToolCaller,
    ) -> Result<ToolOutcome> {
        Err(Error::not_found("tool", &tool.name))
    }
}

/// No processes at all.
#[derive(Debug)]
pub struct NoProcesses;

impl ProcessCaller for NoProcesses {
    fn run<'a>(&'a self, process: &'a str, _arguments: Vec<Value>) -> BoxFuture<'a, Result<Value>> {
        Box::pin(async move {
            let message = format!("process not found: {process}");
            Err(Error::new(ErrorCode::NotFound, message))
        })
    }
}
