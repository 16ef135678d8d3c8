//! Tool servers of an app: what they offer to models and scripts, and calls. Servers outside are reached over the transports
//! of a table; an app's own processes are a server too.

mod concurrent;
mod connection;
mod external;
mod notifications;
mod pool;
mod process;
mod program;
mod progress;
mod request;
mod samples;
mod script_methods;
mod selection;
mod server;
mod session;
mod tool_names;
mod tool_result;
mod toolbox;
mod transport;

pub use concurrent::{ConcurrencyLimits, JoinPolicy, ServerToolCall, ServerToolResult};
pub use pool::McpServerPool;
pub use script_methods::SampleSource;
pub use tool_names::ToolNames;
pub use tool_result::cut;

use crate::app::{self, App};
use crate::error::{Error, ErrorCode, Result};
use crate::schema::{self, SchemaError};
use crate::tool::{McpTool, ToolCaller};
use ambit_storage::suggestion;
use external::ExternalServer;
use request::{McpListKind, McpRequest};
use selection::{ServerFilter, ServerSelections};
use serde_json::{Map, Value};
use server::McpServer;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use samples::message as samples_message;

/// The servers of one version of an app.
pub struct McpServers {
    app: Arc<App>,
    servers: BTreeMap<String, Arc<McpServer>>,
}

/// What came of a call.
pub struct McpCallResult {
    /// `{content, structuredContent?, isError, data}`.
    pub result: Value,
    /// What the trace says of it.
    pub warnings: Vec<String>,
}

impl McpServers {
    /// A server as an agent names it; its own ones come first.
    fn find(&self, agent: &str, id: &str) -> Result<&Arc<McpServer>> {
        let Some((full, known)) = self.known(agent, id) else {
            let hint = suggestion::aside(id, self.names(agent));
            let message = format!("unknown MCP server \"{id}\"{hint}");
            return Err(Error::new(ErrorCode::ConfigError, message));
        };
        if let Err(problem) = known {
            return Err(problem.for_user("MCP server", id));
        }
        let server = self.servers.get(full);
        let server =
            server.ok_or_else(|| Error::internal(format!("server {full} was not made")))?;
        match server.is_on() {
            true => Ok(server),
            false => {
                let message = format!("MCP server \"{id}\" is switched off: set enabled to true");
                Err(Error::new(ErrorCode::ConfigError, message))
            }
        }
    }

    /// Whether a server that an agent names is outside.
    pub(crate) fn is_external(&self, agent: &str, id: &str) -> bool {
        let found = self.find(agent, id);
        found.is_ok_and(|server| server.external().is_some())
    }

    /// The full id of a server that an agent names, and what its file says.
    fn known(&self, agent: &str, id: &str) -> Option<(&String, &McpServerResult)> {
        let own = format!("agents.{agent}.{id}");
        let mut ids = [own.as_str(), id].into_iter();
        ids.find_map(|id| self.app.servers.get_key_value(id))
    }

    /// The servers as an agent may name them.
    fn names<'a>(&'a self, agent: &str) -> impl Iterator<Item = &'a str> {
        let own = format!("agents.{agent}.");
        let ids = self.app.servers.keys();
        ids.map(move |id| id.strip_prefix(&own).unwrap_or(id))
    }

    /// Calls a tool. `Err` is a failure of the server; what the tool itself says went wrong is a result with `isError`.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        caller: &ToolCaller,
    ) -> Result<McpCallResult> {
        let found = self.find(&caller.agent, server)?;
        let limit = found.limit(caller);
        let lists = found.list_within(limit, McpListKind::Tools, caller).await?;
        let Some(about) = lists.tools.iter().find(|about| about.name == tool) else {
            return Err(unknown("tool", tool, server, names(&lists.tools)));
        };
        let refused = |why: &str| McpCallResult {
            result: tool_result::error(&process::failed(tool, why)),
            warnings: Vec::new(),
        };
        let given = match arguments {
            Value::Null => Value::Object(Map::new()),
            given => given,
        };
        let filled = schema::fill_in(&about.input_schema, given);
        let fitting = filled.and_then(|it| Ok((fits(&about.input_schema, &it)?, it)));
        let (unchecked, arguments) = match fitting {
            Ok(fitting) => fitting,
            Err(why) => return Ok(refused(&format!("the arguments do not fit: {why}"))),
        };
        let Value::Object(arguments) = arguments else {
            return Ok(refused("the arguments must be an object"));
        };
        // Told before the call, which may fail.
        if let Some(why) = unchecked {
            let message = format!("the arguments of {tool} are not checked: {why}");
            caller.node.warn(message);
        }
        let tool = tool.to_owned();
        let progress = caller.progress.clone();
        let request = McpRequest::Call {
            tool,
            arguments,
            meta: found.trace_meta(caller),
            progress,
        };
        let answer = found.ask_within(limit, request, caller).await?;
        let result = tool_result::shaped(answer);
        let warnings = warning(about, &result).into_iter().collect();
        Ok(McpCallResult { result, warnings })
    }

    /// Closes connections of callers of their own that nobody has used for a while.
    pub(crate) fn close_idle(&self) {
        let external = self.servers.values().filter_map(|server| server.external());
        external.for_each(ExternalServer::close_idle);
    }

    /// What the caller's agent wants of this server, whichever of its names is used.
    fn wants(&self, id: &str, caller: &ToolCaller) -> ServerSelections {
        let full = |id: &str| self.known(&caller.agent, id).map(|known| known.0);
        let server = full(id);
        let named = caller.servers.iter();
        let named = named.filter(|wanted| full(wanted.id()) == server);
        ServerSelections::of(named.map(ServerFilter::of))
    }
}

/// A server's file, or what is wrong with it.
type McpServerResult = Result<Arc<app::McpServerFile>, app::FileProblem>;

/// Something that a server does not have, with the nearest of what it has.
fn unknown<'a>(
    what: &str,
    name: &str,
    server: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Error {
    let hint = suggestion::aside(name, known);
    let message = format!("unknown {what} \"{name}\" on MCP server \"{server}\"{hint}");
    Error::new(ErrorCode::NotFound, message)
}

fn names(tools: &[McpTool]) -> impl Iterator<Item = &str> {
    tools.iter().map(|tool| tool.name.as_str())
}

/// `Err` is why a value does not fit a schema. One that is none, or that costs too much, fits everything, for that is its server's
/// matter; `Ok` has why.
fn fits(schema: &Value, value: &Value) -> Result<Option<String>, String> {
    match schema::check(schema, value) {
        Err(SchemaError::Value(why)) => Err(why),
        Err(SchemaError::Schema(why)) => {
            // The log has it too: not every call is traced.
            tracing::warn!("a value is not checked against the schema of its tool: {why}");
            Ok(Some(why))
        }
        Ok(()) => Ok(None),
    }
}

/// What is odd about a result: it was not checked, or is not as its tool says results are.
fn warning(about: &McpTool, result: &Value) -> Option<String> {
    let name = &about.name;
    let schema = about.output_schema.as_ref();
    let schema = schema.filter(|_| result["isError"] != true);
    let value = result.get("structuredContent").unwrap_or(&result["data"]);
    match schema.map_or(Ok(None), |schema| fits(schema, value)) {
        Err(why) => Some(format!(
            "the result of {name} does not fit its outputSchema: {why}"
        )),
        Ok(why) => why.map(|why| format!("the result of {name} is not checked: {why}")),
    }
}
