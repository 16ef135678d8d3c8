//! `All`, `Any` and `Race`: tools of several servers at once.

use super::McpServers;
use super::tool_result;
use crate::concurrent_calls::run_concurrently;
use crate::error::Result;
use crate::tool::ToolCaller;
use serde::Serialize;
use serde_json::Value;

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

/// What came of one of several calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerToolResult {
    /// The server.
    pub mcp: String,
    /// The tool.
    pub tool: String,
    /// What the tool gave; `null` where the call failed.
    pub result: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// What the trace says of it.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

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
        let is_good = |slot: &ServerToolResult| slot.error.is_none();
        run_concurrently(until, bounds, calls, is_good).await
    }

    async fn one(&self, call: &ServerToolCall, caller: &ToolCaller) -> Result<ServerToolResult> {
        let called = self.call_tool(&call.mcp, &call.tool, call.arguments.clone(), caller);
        let (result, error, warnings) = match called.await {
            Ok(called) if called.result["isError"] == true => {
                let error = tool_result::text(&called.result);
                (Value::Null, Some(error), called.warnings)
            }
            Ok(mut called) => (called.result["data"].take(), None, called.warnings),
            Err(error) => (Value::Null, Some(error.message), Vec::new()),
        };
        Ok(ServerToolResult {
            mcp: call.mcp.clone(),
            tool: call.tool.clone(),
            result,
            error,
            warnings,
        })
    }
}
