//! The beginning of a turn: the conversation is found and its lease taken, and the input is durable before anything is answered.

mod client_calls;
mod first_commit;
mod history_copy;
mod named_messages;
mod new_messages;
mod source;
mod supersede;

pub(super) use new_messages::LONGEST_TURN;
pub(super) use source::conversation_of;

use super::agent_run::AgentRun;
use super::create::ModelCallPlan;
use super::nested_turn::NestedCallJournal;
use super::output::TurnOutput;
use super::shared_state::SharedState;
use super::turn_journal::{StepLog, TurnJournal};
use super::turn_parts::TurnParts;
use super::usage::TurnUsage;
use super::{Turn, conversation, model_input, recover, usage};
use crate::app::AppAgent;
use crate::chat::ChatMessage;
use crate::chat_message;
use crate::chats::CLIENT_ID_PREFIX;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{
    BeforeReinjectingInstructions, BeforeSend, ConversationEnded, ConversationStarted,
};
use crate::hook::CreateResult;
use crate::journal::TurnIds;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::stream::{StreamOptions, StreamWriter};
use crate::trace::TraceTree;
use crate::turn_info::StartedTurn;
use ambit_storage::event::{ChatHistoryLoaded, MessageAdding};
use ambit_storage::json::Json;
use ambit_storage::storage::{ChatHistoryStorage, Message, Role, StorageKind, SupersededHistory};
use ambit_storage::{LiveAgent, ids};
use client_calls::rename_calls;
use first_commit::refuse_begun;
use futures::future::BoxFuture;
use named_messages::keep_new;
use new_messages::{check_items, continued_turn, drop_repeated};
use source::{HeldConversation, hold_conversation};
use std::sync::Arc;
use supersede::ConversationSnapshot;

/// Holds the conversation and records the request. Until this returns, nothing has been answered.
pub(crate) fn open<'a>(
    core: &'a Arc<RuntimeCore>,
    mut request: TurnRequest,
) -> BoxFuture<'a, Result<Turn>> {
    Box::pin(async move {
        let loaded = core.loaded();
        let (agent, hooks) = loaded.agent(&request.agent)?;
        let ambit = loaded.acting_as(&request.authorized.caller());
        let held = hold_conversation(core, &ambit, &mut request, &agent.id).await?;
        let HeldConversation {
            session,
            mut found,
            copied,
        } = held;
        core.stores.options().fault_points.reach("turn.held");
        let begun = async {
            refuse_begun(&session, &request).await?;
            let settled = recover::settle_orphans(core, &session).await?;
            if let Some(copied) = copied {
                copied.stage(&session).await?;
            }
            let clock = &core.stores.options().clock;
            let request_id = request.id.clone();
            let request_id = request_id.unwrap_or_else(|| ids::ordered(clock));
            session.context().set_turn_id(&request_id);
            keep_new(&session, &mut request).await?;
            // A request that turns out to ask again takes the place of the answer that is there now.
            if found.is_none() {
                found = ConversationSnapshot::read(&session, &request).await?;
            }
            let superseded = match &found {
                Some(found) => Some(found.supersede(&session, &request_id, &settled).await?),
                None => None,
            };
            let parts = TurnParts {
                core: core.clone(),
                limits: *hooks.limits(),
                ids: TurnIds::of(request_id, &session),
                started_at: clock.now(),
                loaded,
                session: session.clone(),
                request,
            };
            begin(parts, &agent, superseded).await
        };
        let begun = begun.await;
        if begun.is_err() {
            let context = session.context();
            context.discard();
            if let Err(error) = context.end_turn().await {
                tracing::warn!(%error, "a conversation was not given back; its lease will expire");
            }
        }
        begun
    })
}

/// Begins a turn of the conversation that is held.
async fn begin(
    mut parts: TurnParts,
    agent: &AppAgent,
    superseded: Option<SupersededHistory>,
) -> Result<Turn> {
    let request = &mut parts.request;
    request.id = None;
    request.chat = Some(parts.ids.chat_id.clone());
    let size = conversation::loaded_size(&parts.loaded, agent, request)?;
    let history = match &superseded {
        Some(left) => left.end(size).await?,
        None => conversation::load_history(&parts.session, request, size).await?,
    };
    let stored = &history.messages;
    let sent = request.messages.len();
    match_history(&parts.session, stored, request).await?;
    request.repeated += sent - request.messages.len();
    if superseded.is_some() {
        check_question(request, stored)?;
    } else {
        request.continues = continued_turn(&parts.session, stored, &request.messages).await?;
    }
    let usage_apart = usage::open_apart(&parts).await?;
    let mut turn = new_turn(parts, usage_apart)?;
    turn.conversation.set_history(history);
    turn.conversation.superseded = superseded;
    let context = &turn.context;
    let about = context.about();
    context.announce(ConversationStarted { about }).await;
    if let Err(error) = turn.accept(agent).await {
        let context = &turn.context;
        context
            .announce(ConversationEnded {
                about: context.about(),
                status: if error.code == ErrorCode::Vetoed {
                    "vetoed"
                } else {
                    "failed"
                },
                message: Some(error.message.clone()),
            })
            .await;
        return Err(error);
    }
    turn.context.reach_fault_point("turn.begun");
    Ok(turn)
}

/// Compares what a request sends with the history: calls get its ids, and what is stored already is left out.
pub(super) async fn match_history(
    session: &LiveAgent,
    history: &[Message],
    request: &mut TurnRequest,
) -> Result<()> {
    rename_calls(session, history, &mut request.messages).await?;
    match request.has_items {
        true => check_items(history, &mut request.messages),
        false => drop_repeated(history, request),
    }
}

/// Refuses to answer what is no question: without new messages, what is left of the conversation must end with a person's.
fn check_question(request: &TurnRequest, history: &[Message]) -> Result<()> {
    let ends_with_question = history.last().is_some_and(|last| last.role == Role::User);
    if !request.messages.is_empty() || ends_with_question {
        return Ok(());
    }
    let message = "messages must hold at least one message: what supersede leaves of the chat does not end with a user message";
    Err(Error::invalid("messages", message))
}

/// A turn that has done nothing yet, over logs that are empty.
fn new_turn(parts: TurnParts, usage_apart: Option<LiveAgent>) -> Result<Turn> {
    let options = parts.core.stores.options();
    let keys = parts.keys();
    let stream = StreamWriter::open(parts.target(keys.events()), StreamOptions::default());
    let trace_log = stream.open_companion(parts.target(keys.trace()), StreamOptions::companion());
    let trace = parts.trace(&trace_log, &TraceTree::default());
    let outbox = Outbox::new(stream.clone(), parts.limits.outbox, options.clock.clone());
    let calls = NestedCallJournal::new(parts.target(keys.calls()), options.limits.value);
    let usage = TurnUsage::new(&parts, Some(stream.clone()), usage_apart);
    let log = StepLog::Turn {
        key: keys.journal(),
        session: parts.session.clone(),
        stream,
    };
    let output = TurnOutput {
        shared_state: SharedState::of(&parts, &outbox)?,
        ..TurnOutput::new(outbox, trace, trace_log)
    };
    parts.build(TurnJournal::new(log, usage, Some(Arc::new(calls))), output)
}

impl Turn {
    /// What whoever sent the request is told.
    pub fn started(&self) -> Result<StartedTurn> {
        let ids = &self.context.ids;
        Ok(StartedTurn {
            request_id: ids.request_id.clone(),
            context_id: ids.context_id.clone(),
            chat_id: ids.chat_id.clone(),
            trace_id: ids.request_id.clone(),
            assistant_id: self.context.request.agent.clone(),
            started_at: self.context.started_at,
            stream: self.context.live.reader(0)?,
        })
    }

    /// Shows listeners what the turn begins with, and makes the request durable.
    async fn accept(&mut self, agent: &AppAgent) -> Result<()> {
        for warning in std::mem::take(&mut self.context.request.warnings) {
            self.output.warn(&warning);
        }
        self.announce_history().await?;
        self.reinject_instructions().await?;
        self.stage_request().await?;
        let start = self.context.start_event(agent);
        self.output.outbox.emit("stream_start", start);
        self.tell_shared_state().await?;
        self.context.live.inbox.listen().await?;
        self.first_commit().await
    }

    async fn announce_history(&self) -> Result<()> {
        let Self {
            context,
            conversation,
            ..
        } = self;
        if !context.has_listener::<ChatHistoryLoaded>() || context.request.skip.history {
            return Ok(());
        }
        let count = match &conversation.superseded {
            Some(left) => left.count(),
            None => conversation.session.history().count().await?,
        };
        let messages = conversation.history.iter().map(Json::of);
        let messages = messages.collect::<ambit_storage::Result<Vec<_>>>()?;
        context
            .announce(ChatHistoryLoaded {
                about: context.about(),
                storage: ChatHistoryStorage::PREFIX.to_owned(),
                count,
                messages,
            })
            .await;
        Ok(())
    }

    /// Lets listeners change the instructions of a conversation that has begun already, or that the request brings along.
    async fn reinject_instructions(&mut self) -> Result<()> {
        let context = &self.context;
        let has_begun = !self.conversation.history.is_empty() || context.request.messages.len() > 1;
        if !has_begun || !context.has_listener::<BeforeReinjectingInstructions>() {
            return Ok(());
        }
        let run = AgentRun::first(self)?;
        let plan = ModelCallPlan::new(context, &run, CreateResult::default())?;
        let instructions = model_input::instructions(context, &self.output, &run, &plan).messages;
        let event = BeforeReinjectingInstructions {
            about: context.about(),
            instructions: instructions.clone(),
        };
        let event = context.ask(event).await?;
        if event.instructions != instructions {
            self.context.settings.instructions = Some(event.instructions);
        }
        Ok(())
    }

    /// Stages the request's messages, each as listeners leave it.
    async fn stage_request(&mut self) -> Result<()> {
        let sent = std::mem::take(&mut self.context.request.messages);
        for (at, message) in sent.into_iter().enumerate() {
            let about = self.context.about();
            let chat = self
                .context
                .ask(BeforeSend { about, message })
                .await?
                .message;
            let mut stored = chat_message::from_chat(&format!("messages[{at}]"), &chat)?;
            // What a client gave along with it is stored, and is nothing for hooks and models.
            let chat = ChatMessage {
                client: None,
                ..chat
            };
            stored.turn_id = Some(self.context.ids.request_id.clone());
            let id = format!("{CLIENT_ID_PREFIX}{}", at + 1);
            stored.extras.insert("message_id".to_owned(), id.into());
            if stored.role == Role::User {
                stored.extras.insert("type".to_owned(), "user_input".into());
            }
            if let Some(first) = &self.context.request.continues {
                let first = first.as_str().into();
                stored.extras.insert("continues".to_owned(), first);
            }
            let chat = self.append_sent(chat, stored).await?;
            self.context.request.messages.extend(chat);
        }
        Ok(())
    }

    /// Stages a message for the history. Returns what hooks and models get of it: what was sent, unless listeners have made
    /// something else of it.
    pub(super) async fn append_sent(
        &self,
        sent: ChatMessage,
        message: Message,
    ) -> Result<Option<ChatMessage>> {
        if !self.context.has_listener::<MessageAdding>() {
            self.conversation.append(message).await?;
            return Ok(Some(sent));
        }
        let before = chat_message::to_chat(&message);
        let stored = self.conversation.append(message).await?;
        let now = chat_message::to_chat(&stored);
        Ok(match now == before {
            true => Some(sent),
            false => now,
        })
    }
}
