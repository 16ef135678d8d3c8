//! One agent's part of a turn: of the one that was asked, or of one that another has handed over to.

use super::Turn;
use super::conversation::{chat_view, history_size};
use super::joined_answers::{joined_answers, readable_history};
use super::model_input;
use super::next::TurnResponse;
use super::omissions::Omissions;
use super::output::TurnOutput;
use crate::app::AppAgent;
use crate::chat::{BlockKind, BlockSource, ChatMessage};
use crate::chat_message;
use crate::error::{Error, ErrorCode, Result};
use crate::hook::{AgentHooks, Delegate};
use crate::journal::JournalStep;
use crate::request::{CallOptions, SkipOptions, TurnTrigger};
use crate::trace::{NodeOptions, StepFacts, TraceNode};
use ambit_storage::storage::Message;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// What an agent hands on.
pub(super) enum AgentRunOutcome {
    /// The answer to the request.
    Done(Box<TurnResponse>),
    /// The work of another agent.
    HandOver(Box<Delegate>),
}

/// One agent at work, and what it works on.
#[derive(Clone)]
pub(super) struct AgentRun {
    /// 0 of the agent that was asked, 1 of the first delegate …
    pub index: usize,
    pub agent: Arc<AppAgent>,
    pub hooks: Arc<AgentHooks>,
    /// Everything it is to see: history and request, or what it was handed.
    pub messages: Vec<ChatMessage>,
    /// What it does not see of the conversation.
    pub left_out: Omissions,
    /// How its model is called, as the request says, or the agent that handed over.
    pub call: CallOptions,
    pub skip: SkipOptions,
    /// How the turn came about.
    pub trigger: TurnTrigger,
    /// Keys of a call's options that only the agent's own hooks know.
    pub further: Map<String, Value>,
    /// All agents of the turn so far, this one last.
    pub chain: Vec<String>,
    /// Where it is traced.
    pub node: TraceNode,
}

impl AgentRun {
    /// The run of the agent that was asked.
    pub fn first(turn: &Turn) -> Result<Self> {
        let context = &turn.context;
        let request = &context.request;
        let (agent, hooks) = context.loaded.agent(&request.agent)?;
        let history = &turn.conversation.history;
        let size = history_size(&context.loaded, &agent)?;
        let old = history.len().saturating_sub(size);
        let mut new = Vec::with_capacity(request.messages.len());
        for (at, chat) in request.messages.iter().enumerate() {
            new.push(chat_message::from_chat(&format!("messages[{at}]"), chat)?);
        }
        if request.has_items {
            let joined = joined_answers(&new, |_| true).into_iter();
            new = joined.map(Cow::into_owned).collect();
        }
        // Together: the request may answer calls that the history has left open.
        let stored = readable_history(&history[old..], &agent);
        let stored = stored.iter().map(Cow::as_ref);
        let all: Vec<&Message> = stored.chain(&new).collect();
        let callers = context.callers.iter().cloned();
        let chain: Vec<String> = callers.chain([agent.id.clone()]).collect();
        check_chain(&turn.output, &chain, hooks.limits().delegate_depth)?;
        let messages = chat_view(&all);
        let left_out = Omissions::of_conversation(turn, old, &agent)?;
        Ok(Self {
            index: 0,
            left_out,
            chain,
            node: turn.output.root.clone(),
            agent,
            hooks,
            messages: match context.is_nested() {
                true => delegated(messages, &[], &turn.output.root),
                false => messages,
            },
            call: request.call.clone(),
            skip: request.skip,
            trigger: request.trigger(),
            further: request.further.clone(),
        })
    }

    /// To whom this agent has handed over in an earlier attempt. What it did for the turn counts as it did then.
    pub fn past_handover(&self, turn: &mut Turn) -> Option<Delegate> {
        let replay = &turn.journal.replay;
        let delegate = replay.delegated(self.index + 1)?.clone();
        if let Some(created) = replay.created(self.index).flatten() {
            turn.context.settings.apply(created);
        }
        let results = replay.results(self.index);
        turn.output.answers.tool_results.extend(results);
        Some(delegate)
    }

    /// The run of the agent that this one hands over to.
    pub async fn hand_over(&self, turn: &mut Turn, delegate: Delegate) -> Result<Self> {
        let index = self.index + 1;
        if turn.journal.replay.delegated(index).is_none() {
            turn.store_answers().await?;
            let step = JournalStep::Delegated {
                run: index,
                delegate: Box::new(delegate.clone()),
            };
            turn.record(step).await?;
        }
        turn.context.live.set_closing(false).await;
        let Delegate {
            agent_id,
            messages,
            options,
        } = delegate;
        let chain: Vec<String> = self.chain.iter().chain([&agent_id]).cloned().collect();
        check_chain(&turn.output, &chain, self.hooks.limits().delegate_depth)?;
        let found = turn.context.loaded.agent(&agent_id);
        let (agent, hooks) = found.map_err(|error| match error.code {
            ErrorCode::NotFound => {
                Error::new(ErrorCode::NotFound, format!("unknown agent \"{agent_id}\""))
            }
            _ => error,
        })?;
        let skip = self.skip.with(options.skip);
        if !(skip.history || turn.context.request.skip.history) {
            let session = turn.conversation.session.context();
            session.touch_as(&agent.id);
        }
        let context = &mut turn.context;
        context.settings.metadata.extend(options.metadata());
        let facts = context
            .loaded
            .agent_facts(&agent.id, &context.settings.locale);
        let node = NodeOptions::new("agent", agent.id.as_str());
        let node = node.with_metadata(json!({
            "agent_id": agent.id, "thread_id": turn.output.author.thread,
        }));
        let node = self.node.add(node.with_facts(StepFacts::Agent(facts)));
        Ok(Self {
            index,
            agent,
            hooks,
            messages: delegated(messages, &self.messages, &self.node),
            left_out: Omissions::default(),
            call: options.call,
            skip,
            trigger: self.trigger,
            further: options.given,
            chain,
            node,
        })
    }

    /// `options` as hooks see them.
    pub fn hook_options(&self, metadata: &Map<String, Value>) -> Value {
        let call = &self.call;
        let without_global = call.disable_global_prompts.unwrap_or(false);
        let known = [
            ("connector", json!(call.connector)),
            ("mode", json!(call.mode)),
            ("search", json!(call.search)),
            ("skip", json!(self.skip)),
            ("disable_global_prompts", without_global.into()),
            ("metadata", metadata.clone().into()),
            ("trigger", self.trigger.as_str().into()),
        ];
        let mut options = self.further.clone();
        options.extend(known.map(|(name, value)| (name.to_owned(), value)));
        options.into()
    }
}

/// Refuses chains of agents that are too long; an agent that is there again is worth a warning.
fn check_chain(output: &TurnOutput, chain: &[String], most: usize) -> Result<()> {
    let shown = || chain.join(" → ");
    if chain.len() > most + 1 {
        let message = format!("delegate depth limit {most} exceeded: {}", shown());
        return Err(Error::new(ErrorCode::DelegateDepth, message));
    }
    if let Some((last, above)) = chain.split_last()
        && above.contains(last)
    {
        output.warn(&format!("agents go in a circle: {}", shown()));
    }
    Ok(())
}

impl Turn {
    /// What the agent of a run leaves out, as far as the journal says: what those before it do, but for what it was told
    /// otherwise.
    pub(super) fn skip_options(&self, run: usize) -> SkipOptions {
        let replay = &self.journal.replay;
        let delegates = (1..=run).filter_map(|to| replay.delegated(to));
        let changes = delegates.map(|delegate| delegate.options.skip);
        changes.fold(self.context.request.skip, SkipOptions::with)
    }
}

/// Messages that another agent has handed on, at this node. Of those that this agent has known, as they are stored, it is told which they
/// are.
fn delegated(
    messages: Vec<ChatMessage>,
    known: &[ChatMessage],
    node: &TraceNode,
) -> Vec<ChatMessage> {
    let mut next = 0;
    let messages = messages.into_iter().map(|message| {
        let known = model_input::same_message(known, &message, &mut next);
        let known = known.filter(|known| !known.origin.is_changed);
        let source = BlockSource {
            message_id: known.and_then(|known| known.origin.source().message_id),
            node_id: node.recorded_id(),
            ..BlockSource::default()
        };
        message.with_source(BlockKind::Delegate, source)
    });
    messages.collect()
}
