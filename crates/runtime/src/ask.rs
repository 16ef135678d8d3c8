//! The one way up: what lies below a turn asks whoever runs turns.

use crate::ctx::Scope;
use crate::error::{Code, Error, Result};
use ambit_script::HostError;
use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Runs turns, and answers those that are asked of it from inside one.
#[async_trait]
pub trait Ask: Send + Sync {
    /// A detached context for a script that asked for one with `new Context(…)`: the caller's identity, an empty request
    /// memory and a trace of its own; what it says is discarded. A chat that the caller may not use is not found.
    async fn open_context(&self, caller: &Scope, wanted: Wanted) -> Result<Arc<Scope>>;

    /// Calls an agent or a model from inside a turn: `{agent_id or connector, response, content, error, stopped?}`. What goes
    /// wrong with the call is part of the answer; an error is what a function of the script threw. Dropping the future
    /// cancels the call.
    async fn call(&self, caller: &Scope, nested: Nested) -> Result<Value, HostError>;
}

/// What is called from inside a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// `ctx.agent`.
    Agent,
    /// `ctx.llm`.
    Model,
}

/// A call from inside a turn.
pub struct Nested {
    /// Of what.
    pub callee: Callee,
    /// The agent's or the connector's id.
    pub name: String,
    /// What it is to see.
    pub messages: Vec<Value>,
    /// As the script gave them.
    pub options: Map<String, Value>,
    /// The client does not see it.
    pub is_silent: bool,
    /// Who gets each frame as it comes.
    pub on_chunk: Option<OnChunk>,
}

/// Gets a frame; `false` stops the call.
pub type OnChunk = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<bool, HostError>> + Send + Sync>;

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

    async fn call(&self, _: &Scope, _: Nested) -> Result<Value, HostError> {
        let what = "agents and models cannot be called here: no runtime is running";
        Err(Error::new(Code::Unsupported, what).into())
    }
}
