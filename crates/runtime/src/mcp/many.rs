//! `All`, `Any` and `Race`: tools of several servers at once.

use super::Servers;
use super::answer;
use crate::error::Result;
use crate::together::together;
use crate::tool::Caller;
use serde_json::{Value, json};

pub use crate::together::{Bounds, Until};

/// One of several calls.
#[derive(Clone, Debug, PartialEq)]
pub struct One {
    /// The server.
    pub mcp: String,
    /// The tool.
    pub tool: String,
    /// What it gets.
    pub arguments: Value,
}

/// `{mcp, tool, result, error}`.
pub type Slot = Value;

impl Servers {
    /// Runs calls at once; the others are cancelled when enough of them have ended, and have no slot. Too many are refused;
    /// nothing else fails as a whole.
    pub async fn many(
        &self,
        calls: &[One],
        how: (Until, Bounds),
        caller: &Caller,
    ) -> Result<Vec<Option<Slot>>> {
        let calls = calls.iter().map(|call| self.one(call, caller)).collect();
        together(how, calls, |slot: &Slot| slot["error"].is_null()).await
    }

    async fn one(&self, call: &One, caller: &Caller) -> Result<Slot> {
        let place = (call.mcp.as_str(), call.tool.as_str());
        let called = self.call_tool(place, call.arguments.clone(), caller).await;
        let (result, error) = match called {
            Ok(called) if called.result["isError"] == true => {
                (Value::Null, Some(answer::text(&called.result)))
            }
            Ok(mut called) => (called.result["data"].take(), None),
            Err(error) => (Value::Null, Some(error.message)),
        };
        Ok(json!({"mcp": call.mcp, "tool": call.tool, "result": result, "error": error}))
    }
}
