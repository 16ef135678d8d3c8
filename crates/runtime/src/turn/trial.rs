//! Trying what an agent has by hand, from inside a turn that is not begun: no model is asked, and nothing of it is kept but what
//! vectors of its queries have used.

mod hook;
mod tool;

pub(crate) use hook::try_hook;
pub use hook::{HookTrial, HookTrialError, HookTrialMessage, HookTrialRequest};
pub(crate) use tool::try_tool;
pub use tool::{ToolTrial, ToolTrialRequest};

use super::Turn;
use super::agent_run::AgentRun;
use super::turn_parts::TurnParts;
use super::usage;
use crate::chats;
use crate::ctx::{NoTurnHost, ScriptContext};
use crate::error::Result;
use crate::llm::TokenUsage;
use crate::request::{RequestOrigin, TurnRequest, TurnStorage};
use crate::runtime_core::RuntimeCore;
use crate::trace::TraceNode;
use std::sync::Arc;

/// A request in this language, of which nothing is stored.
fn trial_request(locale: &str) -> TurnRequest {
    TurnRequest {
        storage: TurnStorage::None,
        origin: RequestOrigin {
            locale: locale.to_owned(),
            referer: "api".to_owned(),
            ..RequestOrigin::default()
        },
        ..TurnRequest::default()
    }
}

/// A turn that is not begun, and what the scripts of its agent see and reach. Agents and models cannot be called from there.
struct Trial {
    turn: Turn,
    run: AgentRun,
    scope: Arc<ScriptContext>,
    node: TraceNode,
}

impl Trial {
    /// For the agent that a request names, in its conversation.
    async fn open(core: &Arc<RuntimeCore>, request: TurnRequest) -> Result<Self> {
        let loaded = core.loaded();
        let ambit = loaded.acting_as(&request.authorized.caller());
        let (agent, _) = loaded.agent(&request.agent)?;
        let session = chats::open_for(&ambit, &request, &agent.id).await?;
        let parts = TurnParts::inside(core, loaded, session, request)?;
        let usage_apart = usage::open_apart(&parts).await?;
        let turn = parts.unbegun(usage_apart)?;
        let run = AgentRun::first(&turn)?;
        let node = turn.agent_node(&run);
        let scope = turn.script_context_below(&run, "trial", node.clone())?;
        let scope = ScriptContext {
            turn_host: Arc::new(NoTurnHost),
            ..Arc::unwrap_or_clone(scope)
        };
        Ok(Self {
            turn,
            run,
            scope: Arc::new(scope),
            node,
        })
    }

    /// Books what the vectors of its queries have used on who tries. What was tried is done, so that a failure is only logged.
    async fn save_usage(&self) {
        if self.turn.journal.usage.tokens() == TokenUsage::default() {
            return;
        }
        if let Err(error) = self.turn.save_usage_apart().await {
            let id = self.turn.context.id();
            tracing::warn!(request.id = id, %error, "what a trial has used is not booked");
        }
    }
}
