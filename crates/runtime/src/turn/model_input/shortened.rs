//! A conversation that is made shorter for a call, and what that leaves out.

use super::ModelCallDraft;
use crate::app::AppAgent;
use crate::chat::{ChatMessage, DroppedMessages, DroppedParts};
use crate::error::Result;
use crate::token_estimate::{of_tools, tokens};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::conversation::chat_view;
use crate::turn::joined_answers::readable_history;
use crate::turn::model_call::observed_truncation;
use crate::turn::omissions::{
    HISTORY_SIZE, NOT_FOR_MODEL, leave_out, leave_out_chat, note_unreadable, truncated_by,
};
use ambit_storage::storage::{Message, Role};
use ambit_storage::truncation::{self, ContextWindow, ReportedUsage, STANDS_FOR};
use std::collections::HashSet;

/// Where the last report of a provider is looked for.
const LOOK: usize = 50;

/// What is sent instead.
pub(in crate::turn) struct FittingMessages {
    pub messages: Vec<ChatMessage>,
    /// What the call does not have of the history's view, where that is said anew.
    pub view: Option<Vec<DroppedParts>>,
    /// What is not part of the view any more.
    pub truncated: Vec<DroppedParts>,
}

/// The conversation as it fits, behind the same instructions.
pub(super) async fn shortened(
    turn: &mut Turn,
    run: &AgentRun,
    draft: &ModelCallDraft<'_>,
    window: Option<ContextWindow>,
) -> Result<FittingMessages> {
    turn.persist().await?;
    let (instructions, said) = draft.messages.split_at(draft.instructions);
    let call = truncation::TruncationRequest {
        reported: reported(turn).await?,
        extra_tokens: tokens(instructions) + of_tools(draft.tools),
        window,
        strategy: observed_truncation(turn, run)?,
        settings: truncation::TruncationSettings::default(),
    };
    let prepared = turn.conversation.session.context().truncate(&call).await?;
    if let Some(refused) = &prepared.refused {
        turn.output
            .warn(&format!("the conversation was not made shorter: {refused}"));
    }
    let strategy = turn.context.loaded.truncation(&run.agent.id)?;
    let truncated = truncated(said, &prepared.messages, strategy.as_deref());
    let (shown, mut view) = shown(prepared.messages, turn.context.id(), &run.agent);
    note_unreadable(&mut view, &shown, &run.agent);
    let messages = chat_view(&readable_history(&shown, &run.agent));
    Ok(FittingMessages {
        messages: instructions.iter().cloned().chain(messages).collect(),
        view: Some(view.into_parts()),
        truncated,
    })
}

/// The messages that the agent's model sees of a view in the turn `own`, and those that it does not see.
fn shown(view: Vec<Message>, own: &str, agent: &AppAgent) -> (Vec<Message>, DroppedMessages) {
    let size = agent.package.options.history_size.unwrap_or(usize::MAX);
    let is_own = |message: &Message| message.turn_id.as_deref() == Some(own);
    let before = view.iter().filter(|message| !is_own(message)).count();
    let mut surplus = before.saturating_sub(size);
    let (mut shown, mut left_out) = (Vec::with_capacity(view.len()), DroppedMessages::default());
    for message in view {
        if !is_own(&message) && surplus > 0 && !message.extras.contains_key(STANDS_FOR) {
            surplus -= 1;
            leave_out(&mut left_out, HISTORY_SIZE, &message);
            continue;
        }
        // What this turn's hooks have shown is for the person; later turns see it.
        let is_said_by_hook = is_own(&message)
            && message.role == Role::Assistant
            && message.tool_calls.is_empty()
            && message.extras.contains_key("message_id");
        match is_said_by_hook {
            true => leave_out(&mut left_out, NOT_FOR_MODEL, &message),
            false => shown.push(message),
        }
    }
    (shown, left_out)
}

/// The stored messages that the view has no more.
fn truncated(said: &[ChatMessage], view: &[Message], strategy: Option<&str>) -> Vec<DroppedParts> {
    let shown: HashSet<&str> = view.iter().map(|message| message.id.as_str()).collect();
    let reason = truncated_by(strategy);
    let mut left_out = DroppedMessages::default();
    for message in said {
        let id = message.origin.message_id();
        match id.is_some_and(|id| !shown.contains(id)) {
            true => leave_out_chat(&mut left_out, &reason, message),
            false => left_out.keep(),
        }
    }
    left_out.into_parts()
}

/// What the last call is known to have had.
async fn reported(turn: &Turn) -> Result<Option<ReportedUsage>> {
    let stored = turn.conversation.session.history().tail(LOOK).await?;
    let last = stored.iter().rev().find_map(|message| {
        let tokens = message.usage.as_ref()?.get("total_tokens")?.as_u64()?;
        Some(ReportedUsage {
            tokens,
            through: message.id.clone(),
        })
    });
    Ok(last)
}
