//! About how many tokens a request would give its agent's model, without asking it.

use super::agent_run::AgentRun;
use super::conversation;
use super::converse::Transcript;
use super::open::{conversation_of, match_history};
use super::turn_parts::TurnParts;
use crate::chats;
use crate::error::Result;
use crate::hook::CreateResult;
use crate::request::{ConversationSource, TurnRequest};
use crate::runtime_core::RuntimeCore;
use crate::token_estimate::{of_tools, tokens};
use ambit_storage::storage::Message;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Estimates what the agent that is asked gives its model: prompts, what was said before and is said now, and tools. Hooks and
/// searches, which only a turn runs, change nothing of it.
pub(crate) fn estimate<'a>(
    core: &'a Arc<RuntimeCore>,
    mut request: TurnRequest,
) -> BoxFuture<'a, Result<u64>> {
    Box::pin(async move {
        let loaded = core.loaded();
        let (agent, _) = loaded.agent(&request.agent)?;
        let ambit = loaded.acting_as(&request.authorized.caller());
        let last = match &request.source {
            Some(ConversationSource::Behind(turn)) => Some(turn.clone()),
            _ => None,
        };
        if let Some(turn) = &last {
            request.source = Some(conversation_of(&ambit, &request.authorized, turn).await?);
        }
        let session = chats::open_for(&ambit, &request, &agent.id).await?;
        let size = conversation::loaded_size(&loaded, &agent, &request)?;
        let mut history = conversation::load_history(&session, &request, size).await?;
        if last.is_some() {
            // What came behind it is another conversation.
            let is_last = |message: &Message| message.turn_id == last;
            let messages = &mut history.messages;
            let end = messages.iter().rposition(is_last).map(|at| at + 1);
            messages.truncate(end.unwrap_or(messages.len()));
        }
        match_history(&session, &history.messages, &mut request).await?;
        let parts = TurnParts::inside(core, loaded, session, request)?;
        let mut turn = parts.unbegun(None)?;
        turn.conversation.set_history(history);
        let run = AgentRun::first(&turn)?;
        let mut transcript = Transcript::default();
        let created = CreateResult::default();
        let setup = turn.prepare(&run, created, &mut transcript).await?;
        let tools = setup.map(|setup| setup.offered.definitions());
        Ok(tokens(&transcript.messages) + of_tools(&tools.unwrap_or_default()))
    })
}
