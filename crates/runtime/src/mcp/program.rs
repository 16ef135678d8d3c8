//! Functions of the program around the runtime as a server.

use super::process::{ends_turn, failed, wrapped};
use super::request::McpRequest;
use super::{tool_result, unknown};
use crate::error::Result;
use crate::tool::{McpLists, ToolCaller, ToolServer};
use futures::FutureExt;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// The functions of one server.
pub struct ProgramServer {
    server: ToolServer,
    lists: Arc<McpLists>,
}

impl ProgramServer {
    pub fn new(server: ToolServer) -> Self {
        let tools = server.tools().iter().map(|tool| tool.about.clone());
        let lists = McpLists {
            tools: tools.collect(),
            ..McpLists::default()
        };
        Self {
            lists: Arc::new(lists),
            server,
        }
    }

    /// What it has: tools alone.
    pub fn lists(&self) -> Arc<McpLists> {
        self.lists.clone()
    }

    /// An answer, as the protocol writes it. Dropping the future cancels the work.
    pub async fn ask(&self, request: McpRequest, caller: &ToolCaller) -> Result<Value> {
        let id = self.server.id();
        let (name, arguments) = match request {
            McpRequest::Call {
                tool, arguments, ..
            } => (tool, arguments),
            McpRequest::Read { uri } => return Err(unknown("resource", &uri, id, [])),
            McpRequest::Prompt { name, .. } => return Err(unknown("prompt", &name, id, [])),
        };
        let mut tools = self.server.tools().iter();
        let Some(tool) = tools.find(|tool| tool.about.name == name) else {
            return Err(unknown("tool", &name, id, []));
        };
        let work = AssertUnwindSafe(tool.call(Value::Object(arguments), caller.clone()));
        match work.catch_unwind().await {
            Ok(Ok(result)) => Ok(wrapped(result)),
            Ok(Err(error)) if ends_turn(&error) => Err(error),
            Ok(Err(error)) => Ok(tool_result::error(&failed(&name, &error.message))),
            Err(_) => Ok(tool_result::error(&failed(&name, "it panicked"))),
        }
    }
}
