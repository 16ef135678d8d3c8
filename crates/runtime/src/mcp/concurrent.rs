//! `All`, `Any` and `Race`: tools of several servers at once.

use super::McpServers;
use super::tool_result;
use crate::concurrent_calls::run_concurrently;
use crate::error::Result;
use crate::tool::ToolCaller;
use serde_json::{Value, json};

pub use crate::concurrent_calls::{ConcurrencyLimits, JoinPolicy};

/// One of several calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerToolCall {
    /// The server.
    pub mcp: String,
    /// The tool.
    pub tool: String,
    /// What it gets.
    pub arguments: Value,
}

/// `{mcp, tool, result, error}`.
pub type ServerToolResult = Value;

impl McpServers {
    /// Runs calls at once; the others are cancelled when enough of them have ended, and have no slot. Too many are refused;
    /// nothing else fails as a whole.
    pub async fn many(
        &self,
        calls: &[ServerToolCall],
        until: JoinPolicy,
        bounds: ConcurrencyLimits,
        caller: &ToolCaller,
    ) -> Result<Vec<Option<ServerToolResult>>> {
        let calls = calls.iter().map(|call| self.one(call, caller)).collect();
        run_concurrently(until, bounds, calls, |slot: &ServerToolResult| {
            slot["error"].is_null()
        })
        .await
    }

    async fn one(&self, call: &ServerToolCall, caller: &ToolCaller) -> Result<ServerToolResult> {
        let called = self.call_tool(&call.mcp, &call.tool, call.arguments.clone(), caller);
        let (result, error) = match called.await {
            Ok(called) if called.result["isError"] == true => {
                (Value::Null, Some(tool_result::text(&called.result)))
            }
            Ok(mut called) => (called.result["data"].take(), None),
            Err(error) => (Value::Null, Some(error.message)),
        };
        Ok(json!({"mcp": call.mcp, "tool": call.tool, "result": result, "error": error}))
    }
}
