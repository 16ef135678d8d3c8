//! The one way up: what lies below a turn asks whoever runs turns.

use crate::ctx::Scope;
use crate::error::{Code, Error, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Runs turns, and answers those that are asked of it from inside one.
#[async_trait]
pub trait Ask: Send + Sync {
    /// A detached context for a script that asked for one with `new Context(…)`: the caller's identity, an empty request
    /// memory and a trace of its own; what it says is discarded. A chat that the caller may not use is not found.
    async fn open_context(&self, caller: &Scope, wanted: Wanted) -> Result<Arc<Scope>>;

    /// Asks an agent beside the turn, for the caller's caller. The answer is `{agent_id, response, content, error}`. Dropping
    /// the future stops the agent.
    async fn call_agent(&self, caller: &Scope, call: AgentCall) -> Result<Value>;
}

/// One call of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentCall {
    /// The agent's id.
    pub agent: String,
    /// What it is told.
    pub messages: Vec<Value>,
    /// `connector`, `mode`, `metadata`, `skip` and others, as `ctx.agent.Call` has them.
    pub options: Map<String, Value>,
}

/// What a script asks for with `new Context(…)`. What is not given is the caller's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The agent.
    pub assistant_id: Option<String>,
    /// The chat's name.
    pub chat_id: Option<String>,
    /// The language.
    pub locale: Option<String>,
    /// Metadata instead of the caller's.
    pub metadata: Option<Map<String, Value>>,
}

/// Nobody to ask: for scripts that run outside a runtime.
pub struct Nobody;

#[async_trait]
impl Ask for Nobody {
    async fn open_context(&self, _: &Scope, _: Wanted) -> Result<Arc<Scope>> {
        let what = "new Context is not possible here: no runtime is running";
        Err(Error::new(Code::Unsupported, what))
    }

    async fn call_agent(&self, _: &Scope, call: AgentCall) -> Result<Value> {
        let what = format!(
            "agent \"{}\" cannot be called: no runtime is running",
            call.agent
        );
        Err(Error::new(Code::Unsupported, what))
    }
}
