//! Tools that are functions of the program around the runtime.

use super::{McpTool, ToolCaller};
use crate::error::Result;
use futures::future::BoxFuture;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A server of tools that are functions of this program. Agents name it in `mcp.servers`, and scripts use it through `ctx.mcp`,
/// as they do the servers that are files of the app.
#[derive(Clone)]
pub struct ToolServer {
    id: String,
    tools: Vec<ProgramTool>,
}

/// A function and what models are told of it.
#[derive(Clone)]
pub(crate) struct ProgramTool {
    pub about: McpTool,
    function: Arc<BoxedToolFn>,
}

type BoxedToolFn = dyn Fn(Value, ToolCaller) -> BoxFuture<'static, Result<Value>> + Send + Sync;

/// A function that is a tool: `async |arguments, caller| { … }`, an `async fn`, or a closure that clones its state into an
/// `async move` block.
pub trait ToolFn: AsyncFn(Value, ToolCaller) -> Result<Value> + SendToolFn + 'static {}

impl<F> ToolFn for F where F: AsyncFn(Value, ToolCaller) -> Result<Value> + SendToolFn + 'static {}

/// The future of a [`ToolFn`] can be sent between threads.
pub trait SendToolFn: Fn(Value, ToolCaller) -> <Self as SendToolFn>::Future + Send + Sync {
    /// What the function gives.
    type Future: Future<Output = Result<Value>> + Send + 'static;
}

impl<F, T> SendToolFn for F
where
    F: Fn(Value, ToolCaller) -> T + Send + Sync,
    T: Future<Output = Result<Value>> + Send + 'static,
{
    type Future = T;
}

impl ToolServer {
    /// Returns a server without tools. One of the app with the same id is left out.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            tools: Vec::new(),
        }
    }

    /// Adds a tool. `parameters` is the JSON Schema of its arguments, which fit it when the function is called; an error of the
    /// function is told to the model.
    pub fn tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        function: impl ToolFn,
    ) -> Self {
        self.tools.push(ProgramTool {
            about: McpTool {
                name: name.into(),
                description: Some(description.into()),
                input_schema: parameters,
                output_schema: None,
            },
            function: Arc::new(move |arguments, caller| Box::pin(function(arguments, caller))),
        });
        self
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn tools(&self) -> &[ProgramTool] {
        &self.tools
    }
}

impl fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolServer").field(&self.id).finish()
    }
}

impl ProgramTool {
    pub fn call(&self, arguments: Value, caller: ToolCaller) -> BoxFuture<'static, Result<Value>> {
        (self.function)(arguments, caller)
    }
}
