//! What a model is given: instructions with their variables replaced, and as many messages as fit. Long conversations are
//! truncated as the agent says, and what cannot fit is refused before the call.

use super::Turn;
use super::agent_run::AgentRun;
use super::converse::Transcript;
use super::create::ModelCallPlan;
use super::joined_answers::readable_history;
use super::model_call::ModelCallInput;
use super::output::TurnOutput;
use super::request_context::RequestContext;
use crate::app::Connector;
use crate::app::prompts::{self, PromptChoice, PromptVariables};
use crate::chat::{ChatMessage, Role, ToolDefinition, role_named};
use crate::chat_message;
use crate::error::{Error, ErrorCode, Result};
use crate::llm::ModelCapabilities;
use ambit_storage::storage::Message;
use ambit_storage::truncation::{self, ContextWindow, ReportedUsage, STANDS_FOR, estimate};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the last report of a provider is looked for.
const LOOK: usize = 50;
/// The part of the window that is kept for the answer at most.
const MOST_RESERVED: u64 = 4;

/// What stands in front of the messages.
pub(super) struct AgentInstructions {
    pub messages: Vec<ChatMessage>,
    /// Whether any are the agent's own.
    pub has_own: bool,
}

/// The instructions of an agent for its model.
pub(super) fn instructions(
    context: &RequestContext,
    output: &TurnOutput,
    run: &AgentRun,
    plan: &ModelCallPlan,
) -> AgentInstructions {
    let app = &context.loaded.app;
    let choice = PromptChoice {
        preset: plan.call.prompt_preset.as_deref(),
        mode: plan.call.mode.as_deref(),
        is_without_global: plan.call.disable_global_prompts == Some(true),
    };
    let chosen = prompts::choose(app, &run.agent, &choice);
    let words = app.words(&run.agent, &context.settings.locale);
    let filled = prompts::fill(chosen.all(), &variables(context, run), &words);
    for warning in chosen.warning.iter().chain(&filled.warnings) {
        output.warn(warning);
    }
    let changed = context.settings.instructions.as_ref();
    if let (Some(messages), 0, None) = (changed, run.index, &plan.call.prompt_preset) {
        return AgentInstructions {
            messages: messages.clone(),
            has_own: !chosen.own.is_empty(),
        };
    }
    let messages = filled.prompts.into_iter().map(|prompt| {
        let role = role_named(&prompt.role).unwrap_or(Role::System);
        ChatMessage {
            name: prompt.name,
            ..ChatMessage::new(role, prompt.content)
        }
    });
    AgentInstructions {
        messages: messages.collect(),
        has_own: !chosen.own.is_empty(),
    }
}

fn variables(context: &RequestContext, run: &AgentRun) -> PromptVariables {
    let authorized = &context.request.authorized;
    let or_empty = |id: &Option<String>| id.clone().unwrap_or_default();
    let agent = &run.agent;
    let kind = if agent.is_worker() {
        "worker"
    } else {
        "assistant"
    };
    let variables = [
        ("ASSISTANT_ID", agent.id.clone()),
        ("ASSISTANT_NAME", agent.package.name.clone()),
        ("ASSISTANT_DESCRIPTION", agent.package.description.clone()),
        ("ASSISTANT_TYPE", kind.to_owned()),
        ("CHAT_ID", context.ids.chat_id.clone()),
        ("LOCALE", context.settings.locale.clone()),
        ("THEME", context.settings.theme.clone()),
        ("ROUTE", context.settings.route.clone()),
        ("REFERER", run.referer(context)),
        ("CLIENT_TYPE", context.request.origin.client.kind.clone()),
        ("USER_ID", or_empty(&authorized.user_id)),
        ("TEAM_ID", or_empty(&authorized.team_id)),
        ("TENANT_ID", or_empty(&authorized.tenant_id)),
    ];
    PromptVariables {
        now: jiff::Timestamp::from_millisecond(context.now()).unwrap_or_default(),
        zone: Some(TimeZone::system()),
        context: BTreeMap::from(variables),
        metadata: context.settings.metadata.clone(),
        environment: context.loaded.app.prompt_variables(),
    }
}

/// A request that is about to be made.
pub(super) struct ModelCallDraft<'a> {
    pub plan: &'a ModelCallPlan,
    pub connector: &'a Connector,
    pub tools: &'a [ToolDefinition],
    /// Instructions first.
    pub messages: &'a [ChatMessage],
    /// How many of the messages are instructions.
    pub instructions: usize,
}

/// The messages that are sent instead, if not all are.
pub(super) async fn fit(
    turn: &mut Turn,
    run: &AgentRun,
    draft: ModelCallDraft<'_>,
) -> Result<Option<Vec<ChatMessage>>> {
    let window = window(draft.plan, draft.connector);
    if is_truncated(turn, run, draft.plan)? {
        return shortened(turn, run, draft, window).await.map(Some);
    }
    if let Some(window) = window {
        let tokens = tokens(draft.messages) + of_tools(draft.tools);
        let room = window.tokens - window.reserve;
        if tokens > room {
            let message = format!(
                "the request has about {tokens} tokens, but connector {} takes {room}; send less, or set context.truncation",
                draft.connector.id
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
    }
    Ok(None)
}

/// Whether the conversation is made shorter where it does not fit.
fn is_truncated(turn: &Turn, run: &AgentRun, plan: &ModelCallPlan) -> Result<bool> {
    let is_stored = run.index == 0 && plan.messages.is_none() && !turn.context.request.skip.history;
    Ok(is_stored && turn.context.loaded.truncates(&run.agent.id)?)
}

/// Tokens that references may have, so that a call that fits without them fits with them: half of what is left in the smallest
/// window, the other half being for what tools say. `None` where no window is known.
pub(super) fn room_for_references(
    turn: &Turn,
    input: &ModelCallInput<'_>,
    connectors: &[Arc<Connector>],
    transcript: &Transcript,
) -> Option<u64> {
    let windows = connectors.iter().filter_map(|it| window(input.plan, it));
    let smallest = windows.map(|window| window.tokens - window.reserve).min()?;
    let (instructions, said) = transcript.messages.split_at(transcript.instructions);
    let last = said.iter().rposition(|message| message.role == Role::User);
    let kept = match is_truncated(turn, input.run, input.plan) {
        Ok(true) => &said[last.unwrap_or_default()..],
        _ => said,
    };
    let used = tokens(instructions) + tokens(kept) + of_tools(&input.tools);
    Some(smallest.saturating_sub(used) / 2)
}

async fn shortened(
    turn: &mut Turn,
    run: &AgentRun,
    draft: ModelCallDraft<'_>,
    window: Option<ContextWindow>,
) -> Result<Vec<ChatMessage>> {
    turn.persist().await?;
    let instructions = &draft.messages[..draft.instructions];
    let call = truncation::TruncationRequest {
        reported: reported(turn).await?,
        extra_tokens: tokens(instructions) + of_tools(draft.tools),
        window,
        settings: truncation::TruncationSettings::default(),
    };
    let prepared = turn.conversation.session.context().truncate(&call).await?;
    if let Some(refused) = &prepared.refused {
        turn.output
            .warn(&format!("the conversation was not made shorter: {refused}"));
    }
    let own = turn.context.id();
    let size = run.agent.package.options.history_size.unwrap_or(usize::MAX);
    let is_before = |message: &&Message| message.turn_id.as_deref() != Some(own);
    let mut surplus = prepared.messages.iter().filter(is_before).count();
    surplus = surplus.saturating_sub(size);
    let mut messages = Vec::new();
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
            messages.push(message);
        }
    }
    let messages = readable_history(&messages, &run.agent);
    let paired = ambit_storage::storage::for_model(&messages);
    let messages = paired.iter().filter_map(chat_message::to_chat);
    Ok(instructions.iter().cloned().chain(messages).collect())
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

/// What the model takes, less what is kept for its answer: as much as was asked for, but no more than a quarter.
fn window(plan: &ModelCallPlan, connector: &Connector) -> Option<ContextWindow> {
    let tokens = ModelCapabilities::of(connector).max_input_tokens?;
    let limit = plan.call.generation.limit();
    Some(ContextWindow {
        tokens,
        reserve: limit.unwrap_or(0).min(tokens / MOST_RESERVED),
    })
}

/// Tokens of messages as models know them, about.
pub(super) fn tokens(messages: &[ChatMessage]) -> u64 {
    let counted = messages
        .iter()
        .map(|chat| match chat_message::from_chat("messages", chat) {
            Ok(message) => estimate(&message),
            Err(_) => of_json(&chat.to_json()),
        });
    counted.sum()
}

/// Tokens of tools as models are told of them, about.
pub(super) fn of_tools(tools: &[ToolDefinition]) -> u64 {
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
