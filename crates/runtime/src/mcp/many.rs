//! `All`, `Any` and `Race`: tools of several servers at once.

use super::Servers;
use super::answer;
use crate::tool::Caller;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

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

/// How long the others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All have ended.
    All,
    /// One has succeeded.
    Any,
    /// One has ended.
    Race,
}

/// `{mcp, tool, result, error}`, or `null` for a call that was cancelled.
pub type Slot = Value;

impl Servers {
    /// Runs calls at once; the others are cancelled when enough of them have ended. Nothing fails as a whole.
    pub async fn many(&self, calls: &[One], until: Until, caller: &Caller) -> Vec<Slot> {
        let mut slots = vec![Value::Null; calls.len()];
        let running = calls.iter().enumerate();
        let mut running: FuturesUnordered<_> = running
            .map(|(at, call)| async move { (at, self.one(call, caller).await) })
            .collect();
        while let Some((at, (slot, is_good))) = running.next().await {
            slots[at] = slot;
            let is_enough = match until {
                Until::All => false,
                Until::Any => is_good,
                Until::Race => true,
            };
            if is_enough {
                break;
            }
        }
        slots
    }

    async fn one(&self, call: &One, caller: &Caller) -> (Slot, bool) {
        let place = (call.mcp.as_str(), call.tool.as_str());
        let called = self.call(place, call.arguments.clone(), caller).await;
        let (result, error) = match called {
            Ok(called) if called.result["isError"] == true => {
                (Value::Null, Some(answer::text(&called.result)))
            }
            Ok(mut called) => (called.result["data"].take(), None),
            Err(error) => (Value::Null, Some(error.message)),
        };
        let is_good = error.is_none();
        let slot = json!({"mcp": call.mcp, "tool": call.tool, "result": result, "error": error});
        (slot, is_good)
    }
}
