//! Functions of the program around the runtime as a server.

use super::process::{ends_turn, failed, wrapped};
use super::request::{McpListKind, McpRequest};
use super::tool_result;
use crate::error::{Error, ErrorCode, Result};
use crate::tool::{ToolCaller, ToolServer};
use futures::FutureExt;
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// The functions of one server.
pub struct ProgramServer {
    server: ToolServer,
    tools: Arc<Vec<Value>>,
}

impl ProgramServer {
    pub fn new(server: ToolServer) -> Self {
        let described = server.tools().iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "inputSchema": tool.parameters})
        });
        Self {
            tools: Arc::new(described.collect()),
            server,
        }
    }

    /// A whole list, as the protocol writes it. There are only tools.
    pub fn list(&self, what: McpListKind) -> Arc<Vec<Value>> {
        match what {
            McpListKind::Tools => self.tools.clone(),
            McpListKind::Resources | McpListKind::Prompts => Arc::default(),
        }
    }

    /// An answer, as the protocol writes it. Dropping the future cancels the work.
    pub async fn ask(&self, request: McpRequest, caller: &ToolCaller) -> Result<Value> {
        let (name, arguments) = match request {
            McpRequest::Call { tool, arguments } => (tool, arguments),
            McpRequest::Read { uri } => return Err(self.unknown("resource", &uri)),
            McpRequest::Prompt { name, .. } => return Err(self.unknown("prompt", &name)),
        };
        let Some(tool) = self.server.tools().iter().find(|tool| tool.name == name) else {
            return Err(self.unknown("tool", &name));
        };
        let work = AssertUnwindSafe(tool.call(Value::Object(arguments), caller.clone()));
        match work.catch_unwind().await {
            Ok(Ok(result)) => Ok(wrapped(result)),
            Ok(Err(error)) if ends_turn(&error) => Err(error),
            Ok(Err(error)) => Ok(tool_result::error(&failed(&name, &error.message))),
            Err(_) => Ok(tool_result::error(&failed(&name, "it panicked"))),
        }
    }

    fn unknown(&self, what: &str, name: &str) -> Error {
        let id = self.server.id();
        let message = format!("unknown {what} \"{name}\" on MCP server \"{id}\"");
        Error::new(ErrorCode::NotFound, message)
    }
}
