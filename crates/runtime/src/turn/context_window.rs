//! Making a model call fit: long conversations are shortened as the agent says, and what cannot fit is refused before the call.

use super::Turn;
use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use crate::app::Connector;
use crate::chat_message;
use crate::error::{Error, ErrorCode, Result};
use crate::llm::ModelCapabilities;
use ambit_storage::storage::{Message, Role};
use ambit_storage::truncation::{self, ContextWindow, ReportedUsage, STANDS_FOR, estimate};
use serde_json::{Value, json};

/// Where the last report of a provider is looked for.
const LOOK: usize = 50;
/// The part of the window that is kept for the answer at most.
const MOST_RESERVED: u64 = 4;

/// A request that is about to be made.
pub(super) struct ModelCallDraft<'a> {
    pub plan: &'a ModelCallPlan,
    pub connector: &'a Connector,
    pub tools: &'a [Value],
    /// Instructions first.
    pub messages: &'a [Value],
    /// How many of the messages are instructions.
    pub instructions: usize,
}

/// The messages that are sent instead, if not all are.
pub(super) async fn fit(
    turn: &mut Turn,
    leg: &AgentRun,
    wanted: ModelCallDraft<'_>,
) -> Result<Option<Vec<Value>>> {
    let window = window(wanted.plan, wanted.connector);
    let is_stored = leg.index == 0 && wanted.plan.messages.is_none() && !turn.request.skip.history;
    if is_stored && turn.loaded.truncates(&leg.agent.id)? {
        return shortened(turn, leg, wanted, window).await.map(Some);
    }
    if let Some(window) = window {
        let tokens = tokens(wanted.messages) + of_tools(wanted.tools);
        let room = window.tokens - window.reserve;
        if tokens > room {
            let message = format!(
                "the request has about {tokens} tokens, but connector {} takes {room}; send less, or set context.truncation",
                wanted.connector.id
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
    }
    Ok(None)
}

async fn shortened(
    turn: &mut Turn,
    leg: &AgentRun,
    wanted: ModelCallDraft<'_>,
    window: Option<ContextWindow>,
) -> Result<Vec<Value>> {
    turn.persist().await?;
    let instructions = &wanted.messages[..wanted.instructions];
    let call = truncation::TruncationRequest {
        reported: reported(turn).await?,
        extra_tokens: tokens(instructions) + of_tools(wanted.tools),
        window,
        settings: truncation::TruncationSettings::default(),
    };
    let prepared = turn.session.context().truncate(&call).await?;
    if let Some(refused) = &prepared.refused {
        turn.warn(&format!("the conversation was not made shorter: {refused}"));
    }
    let own = turn.ids.request_id.as_str();
    let size = leg.agent.history_size.unwrap_or(usize::MAX);
    let is_before = |message: &&Message| message.turn_id.as_deref() != Some(own);
    let mut surplus = prepared.messages.iter().filter(is_before).count();
    surplus = surplus.saturating_sub(size);
    let mut kept = Vec::new();
    for message in prepared.messages {
        let is_own = message.turn_id.as_deref() == Some(own);
        if !is_own && surplus > 0 && !message.extras.contains_key(STANDS_FOR) {
            surplus -= 1;
            continue;
        }
        // What this turn's hooks have shown is for the person; later turns see it.
        let is_said_by_hook = is_own
            && message.role == Role::Assistant
            && message.tool_calls.is_empty()
            && message.extras.contains_key("message_id");
        if !is_said_by_hook {
            kept.push(message);
        }
    }
    let paired = ambit_storage::storage::for_model(&kept);
    let messages = paired.iter().filter_map(chat_message::to_chat);
    Ok(instructions.iter().cloned().chain(messages).collect())
}

/// What the last call is known to have had.
async fn reported(turn: &Turn) -> Result<Option<ReportedUsage>> {
    let stored = turn.session.history().tail(LOOK).await?;
    let last = stored.iter().rev().find_map(|message| {
        let tokens = message.usage.as_ref()?.get("total_tokens")?.as_u64()?;
        Some(ReportedUsage {
            tokens,
            through: message.id.clone(),
        })
    });
    Ok(last)
}

/// What the model takes, less what is kept for its answer: as much as was asked for, but no more than a quarter.
fn window(plan: &ModelCallPlan, connector: &Connector) -> Option<ContextWindow> {
    let tokens = ModelCapabilities::of(connector).max_input_tokens?;
    let option = |name: &str| plan.options.get(name).and_then(Value::as_u64);
    let asked = option("max_completion_tokens").or_else(|| option("max_tokens"));
    Some(ContextWindow {
        tokens,
        reserve: asked.unwrap_or(0).min(tokens / MOST_RESERVED),
    })
}

/// Tokens of messages as models know them, about.
pub(super) fn tokens(messages: &[Value]) -> u64 {
    let counted = messages
        .iter()
        .map(|chat| match chat_message::from_chat("messages", chat) {
            Ok(message) => estimate(&message),
            Err(_) => of_json(chat),
        });
    counted.sum()
}

/// Tokens of tools as models are told of them, about.
pub(super) fn of_tools(tools: &[Value]) -> u64 {
    match tools {
        [] => 0,
        tools => of_json(&json!(tools)),
    }
}

fn of_json(value: &Value) -> u64 {
    let mut message = Message::new(Role::System, "");
    message.extras.insert("value".to_owned(), value.clone());
    estimate(&message)
}
