//! Tool servers of an app: what they offer to models and scripts, and calls. Servers outside are reached over the transports
//! of a table; an app's own processes are a server too.

mod answer;
mod credentials;
mod ears;
mod link;
mod many;
mod name;
mod pool;
mod process;
mod request;
mod samples;
mod scripts;
mod server;
mod session;
mod toolbox;
mod transport;
mod wanted;

pub(crate) use answer::cut;
pub use many::{One, Slot, Until};
pub use pool::Pool;

use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::schema::{self, Wrong};
use crate::tool::Caller;
use ambit_storage::near;
use request::{Listed, Request};
use serde_json::{Map, Value};
use server::Server;
use std::collections::BTreeMap;
use std::sync::Arc;
use wanted::Wanted;

pub(crate) use samples::message as samples_message;

/// Whether all variables of a text are known.
pub(crate) fn check_variables(text: &str) -> Result<(), String> {
    credentials::check(text)
}

/// The server that an entry of `mcp.servers` names.
pub(crate) fn named(entry: &Value) -> String {
    Wanted::of(entry).id
}

/// The servers of one version of an app.
pub struct Servers {
    app: Arc<App>,
    servers: BTreeMap<String, Arc<Server>>,
}

/// What came of a call.
pub struct Called {
    /// `{content, structuredContent?, isError, data}`.
    pub result: Value,
    /// What the trace says of it.
    pub warnings: Vec<String>,
}

impl Servers {
    /// A server as an agent names it; its own ones come first.
    fn find(&self, agent: &str, id: &str) -> Result<&Arc<Server>> {
        let own = format!("agents.{agent}.{id}");
        let found = [own.as_str(), id].into_iter().find_map(|id| {
            let known = self.app.servers.get(id)?;
            Some((id, known))
        });
        let Some((full, known)) = found else {
            let hint = near::hint(id, self.app.servers.keys().map(String::as_str));
            let message = format!("unknown MCP server \"{id}\"{hint}");
            return Err(Error::new(Code::ConfigError, message));
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
                Err(Error::new(Code::ConfigError, message))
            }
        }
    }

    /// Calls a tool. `Err` is a failure of the server; what the tool itself says went wrong is a result with `isError`.
    pub async fn call(
        &self,
        (server, tool): (&str, &str),
        arguments: Value,
        caller: &Caller,
    ) -> Result<Called> {
        let found = self.find(&caller.agent, server)?;
        let limit = found.limit(caller);
        let tools = found.list_within(limit, (Listed::Tools, caller)).await?;
        let Some(about) = tools.iter().find(|about| about["name"] == tool) else {
            let hint = near::hint(
                tool,
                tools.iter().filter_map(|about| about["name"].as_str()),
            );
            let message = format!("unknown tool \"{tool}\" on MCP server \"{server}\"{hint}");
            return Err(Error::new(Code::NotFound, message));
        };
        let refused = |why: &str| Called {
            result: answer::error(&process::failed(tool, why)),
            warnings: Vec::new(),
        };
        let given = match arguments {
            Value::Null => Value::Object(Map::new()),
            given => given,
        };
        let arguments = schema::fill_in(&about["inputSchema"], given);
        if let Err(why) = fits(&about["inputSchema"], &arguments) {
            return Ok(refused(&format!("the arguments do not fit: {why}")));
        }
        let Value::Object(arguments) = arguments else {
            return Ok(refused("the arguments must be an object"));
        };
        let tool = tool.to_owned();
        let request = Request::Call { tool, arguments };
        let answer = found.ask_within(limit, (request, caller)).await?;
        let result = answer::shaped(answer);
        let warnings = unfit(about, &result).into_iter().collect();
        Ok(Called { result, warnings })
    }

    /// Closes connections of callers of their own that nobody has used for a while.
    pub(crate) fn tidy(&self) {
        self.servers.values().for_each(|server| server.tidy());
    }

    /// What the agent's package says of this server.
    fn wanted(&self, agent: &str, id: &str) -> Option<Wanted> {
        let agent = self.app.agent(agent).ok()?;
        let mut entries = agent.mcp.servers.iter().map(Wanted::of);
        entries.find(|wanted| wanted.id == id)
    }
}

/// Why a value does not fit a schema. A schema that is none fits everything: that is its server's matter.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    match schema::check(schema, value) {
        Err(Wrong::Value(why)) => Err(why),
        Ok(()) | Err(Wrong::Schema(_)) => Ok(()),
    }
}

/// A result that is not as its tool says results are.
fn unfit(about: &Value, result: &Value) -> Option<String> {
    let schema = about.get("outputSchema")?;
    if result["isError"] == true {
        return None;
    }
    let value = result.get("structuredContent").unwrap_or(&result["data"]);
    let why = fits(schema, value).err()?;
    let name = about["name"].as_str().unwrap_or_default();
    Some(format!(
        "the result of {name} does not fit its outputSchema: {why}"
    ))
}
