//! The one way up: what lies below a turn asks whoever runs turns.

use crate::chat::ChatMessage;
use crate::ctx::ScriptContext;
use crate::error::{Error, ErrorCode, Result};
use crate::request::ScriptCallOptions;
use crate::trace::TraceNode;
use crate::uses::{UsesAsker, UsesFailure, UsesRequest, UsesTarget};
use ambit_script::HostError;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Runs turns, and answers those that are asked of it from inside one.
pub trait TurnHost: Send + Sync {
    /// A detached context for a script that asked for one with `new Context(…)`: the caller's identity, an empty request
    /// memory and a trace of its own; what it says is discarded. A chat that the caller may not use is not found.
    fn open_context<'a>(
        &'a self,
        caller: &'a ScriptContext,
        wanted: DetachedContextOptions,
    ) -> BoxFuture<'a, Result<Arc<ScriptContext>>>;

    /// Calls an agent or a model from inside a turn: `{agent_id or connector, response, content, error, stopped?}`. What goes
    /// wrong with the call is part of the answer; an error is what a function of the script threw. Dropping the future
    /// cancels the call.
    fn call<'a>(
        &'a self,
        caller: &'a ScriptContext,
        nested: NestedCall,
    ) -> BoxFuture<'a, Result<Value, HostError>>;

    /// Who asks agents, tools and models for steps beside the model, traced below a node.
    fn asker(&self, caller: &ScriptContext, node: TraceNode) -> Arc<dyn UsesAsker>;
}

/// What is called from inside a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalleeKind {
    /// `ctx.agent`.
    Agent,
    /// `ctx.llm`.
    Model,
}

/// A call from inside a turn.
pub struct NestedCall {
    /// Of what.
    pub callee: CalleeKind,
    /// The agent's or the connector's id.
    pub name: String,
    /// What it is to see, as it was given.
    pub messages: Vec<Value>,
    /// How it is called.
    pub options: ScriptCallOptions,
    /// The client does not see it.
    pub is_silent: bool,
    /// What it is for, where it is a step beside the answer: so its usage is marked.
    pub purpose: Option<&'static str>,
    /// Who gets each frame as it comes.
    pub on_chunk: Option<ChunkCallback>,
}

impl NestedCall {
    /// What it is to see. A model takes a message without a role as the user's.
    pub fn read_messages(&self) -> Result<Vec<ChatMessage>> {
        let mut messages = self.messages.clone();
        if self.callee == CalleeKind::Model {
            for message in messages.iter_mut().filter_map(Value::as_object_mut) {
                message.entry("role").or_insert("user".into());
            }
        }
        ChatMessage::read_all("messages", messages)
    }
}

/// Gets a frame; `false` stops the call.
pub type ChunkCallback =
    Arc<dyn Fn(Value) -> BoxFuture<'static, Result<bool, HostError>> + Send + Sync>;

/// What a script asks for with `new Context(…)`. What is not given is the caller's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetachedContextOptions {
    /// The agent.
    pub assistant_id: Option<String>,
    /// The chat's name.
    pub chat_id: Option<String>,
    /// The language.
    pub locale: Option<String>,
    /// Metadata instead of the caller's.
    pub metadata: Option<Map<String, Value>>,
}

/// Nobody to ask: for scripts that run outside a turn.
pub struct NoTurnHost;

impl TurnHost for NoTurnHost {
    fn open_context<'a>(
        &'a self,
        _: &'a ScriptContext,
        _: DetachedContextOptions,
    ) -> BoxFuture<'a, Result<Arc<ScriptContext>>> {
        Box::pin(async move {
            let what = "new Context is not possible here: no turn is running";
            Err(Error::new(ErrorCode::Unsupported, what))
        })
    }

    fn call<'a>(
        &'a self,
        _: &'a ScriptContext,
        _: NestedCall,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        Box::pin(async move {
            let what = "agents and models cannot be called here: no turn is running";
            Err(Error::new(ErrorCode::Unsupported, what).into())
        })
    }

    fn asker(&self, _: &ScriptContext, _: TraceNode) -> Arc<dyn UsesAsker> {
        Arc::new(Self)
    }
}

impl UsesAsker for NoTurnHost {
    fn ask<'a>(
        &'a self,
        _: &'a UsesTarget,
        wanted: UsesRequest,
    ) -> BoxFuture<'a, Result<Value, UsesFailure>> {
        Box::pin(async move {
            let what = format!(
                "uses.{} cannot be asked here: no turn is running",
                wanted.key
            );
            Err(UsesFailure::Unknown(what))
        })
    }
}
