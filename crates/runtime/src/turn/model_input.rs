//! What a model is given: instructions with their variables replaced, and as many messages as fit. Long conversations are
//! truncated as the agent says, and what cannot fit is refused before the call.

mod shortened;

use super::Turn;
use super::agent_run::AgentRun;
use super::converse::Transcript;
use super::create::ModelCallPlan;
use super::model_call::ModelCallInput;
use super::omissions::leave_out_chat;
use super::output::TurnOutput;
use super::recent_messages::{self, MODEL_WINDOW};
use super::request_context::RequestContext;
use crate::app::Connector;
use crate::app::prompts::{self, PromptChoice, PromptVariables};
use crate::chat::{BlockKind, BlockSource, ChatMessage, DroppedMessages, Role, ToolDefinition};
use crate::error::{Error, ErrorCode, Result};
use crate::event::BeforeReinjectingInstructions;
use crate::llm::ModelCapabilities;
use crate::token_estimate::{of_message, of_tools, tokens};
use ambit_storage::event::Before;
use ambit_storage::truncation::ContextWindow;
use shortened::FittingMessages;
use std::sync::Arc;

/// The part of the window that is kept for the answer at most.
const MOST_RESERVED: u64 = 4;

/// What stands in front of the messages.
pub(super) struct AgentInstructions {
    pub messages: Vec<ChatMessage>,
    /// Whether any are the agent's own.
    pub has_own: bool,
    /// How many global prompts are left out.
    pub without_global: usize,
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
    let without_global = app.prompts.len() - chosen.global.len();
    let changed = context.settings.instructions.as_ref();
    if let (Some(messages), 0, None) = (changed, run.index, &plan.call.prompt_preset) {
        let changed = messages.iter().cloned();
        let changed = changed.map(|message| {
            let source = listener::<BeforeReinjectingInstructions>(context);
            message.with_source(BlockKind::Listener, source)
        });
        return AgentInstructions {
            messages: changed.collect(),
            has_own: !chosen.own.is_empty(),
            without_global,
        };
    }
    AgentInstructions {
        messages: chosen.messages(filled.prompts),
        has_own: !chosen.own.is_empty(),
        without_global,
    }
}

/// The message that is equal to this one, looked for from `next` on: where one list is like another, each is found at once.
pub(super) fn same_message<'a>(
    known: &'a [ChatMessage],
    message: &ChatMessage,
    next: &mut usize,
) -> Option<&'a ChatMessage> {
    Some(&known[place_of(known, message, next)?])
}

/// The place of the same message.
pub(super) fn place_of(
    known: &[ChatMessage],
    message: &ChatMessage,
    next: &mut usize,
) -> Option<usize> {
    let mut places = (*next..known.len()).chain(0..*next);
    let at = places.find(|at| known[*at] == *message)?;
    *next = at + 1;
    Some(at)
}

/// What a listener to this event has made.
pub(super) fn listener<E: Before>(context: &RequestContext) -> BlockSource {
    BlockSource {
        event: Some(E::NAME.to_owned()),
        listener: Some(context.loaded.ambit.bus().names::<E>().join(", ")),
        ..BlockSource::default()
    }
}

fn variables(context: &RequestContext, run: &AgentRun) -> PromptVariables {
    let (app, who) = (&context.loaded.app, &context.request.authorized);
    let mut variables = PromptVariables::of(app, &run.agent, who, context.now());
    variables.context.extend([
        ("CHAT_ID", context.ids.chat_id.clone()),
        ("LOCALE", context.settings.locale.clone()),
        ("THEME", context.settings.theme.clone()),
        ("ROUTE", context.settings.route.clone()),
        ("REFERER", run.referer(context)),
        ("CLIENT_TYPE", context.request.origin.client.kind.clone()),
    ]);
    variables.metadata.clone_from(&context.settings.metadata);
    variables
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
    /// Whether it is for a connector that is passed over where not all messages fit.
    pub is_fallback: bool,
}

/// The messages that are sent instead, if not all are.
pub(super) async fn fit(
    turn: &mut Turn,
    run: &AgentRun,
    draft: ModelCallDraft<'_>,
) -> Result<Option<FittingMessages>> {
    let window = window(draft.plan, draft.connector);
    if is_truncated(turn, run, draft.plan)? {
        let shortened = shortened::shortened(turn, run, &draft, window).await;
        return shortened.map(Some);
    }
    let Some(window) = window else {
        return Ok(None);
    };
    let all = tokens(draft.messages) + of_tools(draft.tools);
    let room = window.tokens - window.reserve;
    if all <= room {
        return Ok(None);
    }
    if !draft.is_fallback
        && is_shortened_for_call(turn)
        && let Some(fitting) = latest(turn, &draft, room)
    {
        return Ok(Some(fitting));
    }
    let message = format!(
        "the request has about {all} tokens, but connector {} takes {room}; send less, or set context.truncation",
        draft.connector.id
    );
    Err(Error::new(ErrorCode::LimitExceeded, message))
}

/// Whether a call goes on with the latest messages where not all fit: else a conversation that is too large could never go on. Who
/// sends all messages himself can send less.
fn is_shortened_for_call(turn: &Turn) -> bool {
    !turn.context.request.skip.history && !turn.context.is_nested()
}

/// The latest messages, if what must be there fits.
fn latest(turn: &Turn, draft: &ModelCallDraft<'_>, room: u64) -> Option<FittingMessages> {
    let (instructions, said) = draft.messages.split_at(draft.instructions);
    let room = room.checked_sub(tokens(instructions) + of_tools(draft.tools))?;
    let stays = recent_messages::staying(said, room, of_message);
    let kept = recent_messages::chosen(said, &stays).map(of_message);
    let kept: u64 = kept.sum();
    if kept > room {
        return None;
    }
    let mut left_out = DroppedMessages::default();
    for (message, stays) in said.iter().zip(&stays) {
        match stays {
            true => left_out.keep(),
            false => leave_out_chat(&mut left_out, MODEL_WINDOW, message),
        }
    }
    let count = stays.iter().filter(|stays| !**stays).count();
    turn.output.warn(&format!(
        "{count} earlier messages are left out of the call, which has room for {room} tokens of messages with connector {}; \
         set context.truncation to say what goes",
        draft.connector.id
    ));
    let messages = instructions
        .iter()
        .chain(recent_messages::chosen(said, &stays));
    Some(FittingMessages {
        messages: messages.cloned().collect(),
        view: None,
        truncated: left_out.into_parts(),
    })
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
    let own = &said[last.unwrap_or_default()..];
    let beside = tokens(instructions) + of_tools(&input.tools);
    let overflows = |main: Option<&Arc<Connector>>| {
        let window = main.and_then(|main| window(input.plan, main));
        window.is_some_and(|window| beside + tokens(said) > window.tokens - window.reserve)
    };
    let kept = match is_truncated(turn, input.run, input.plan) {
        Ok(true) => own,
        _ if is_shortened_for_call(turn) && overflows(connectors.first()) => own,
        _ => said,
    };
    Some(smallest.saturating_sub(beside + tokens(kept)) / 2)
}

/// What the model takes, less what is kept for its answer: as much as was asked for, but no more than a quarter.
pub(super) fn window(plan: &ModelCallPlan, connector: &Connector) -> Option<ContextWindow> {
    let tokens = ModelCapabilities::of(connector).max_input_tokens?;
    let limit = plan.call.generation.limit();
    Some(ContextWindow {
        tokens,
        reserve: limit.unwrap_or(0).min(tokens / MOST_RESERVED),
    })
}
