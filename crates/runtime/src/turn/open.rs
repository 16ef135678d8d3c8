//! The beginning of a turn: the conversation is found and held, and the input is durable before anything is answered.

use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use super::nested_turn::NestedCallJournal;
use super::replay::JournalReplay;
use super::usage::TurnUsage;
use super::{
    Turn, TurnSettings, client_results, history, instructions, recover, repeated_history,
    turn_answers,
};
use crate::app::AppAgent;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{
    BeforeReinjectingInstructions, BeforeSend, ConversationEnded, ConversationStarted,
};
use crate::hook::CreateResult;
use crate::inbox::TurnInbox;
use crate::journal::{self, JournalStep, TurnIds, TurnKeys};
use crate::limits::AgentLimits;
use crate::live_turn::LiveTurn;
use crate::loaded_app::LoadedApp;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime::{RuntimeCore, TurnInfo, TurnStatus};
use crate::stream::{self, StreamWriter};
use crate::trace::{self, Trace};
use crate::{chat_message, chats};
use ambit_storage::address::LogKey;
use ambit_storage::batch::BatchWrite;
use ambit_storage::event::ChatHistoryLoaded;
use ambit_storage::json::Json;
use ambit_storage::memory::Memory;
use ambit_storage::operation::Operation;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{LiveAgent, ids};
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

/// Holds the conversation and records the request. Until this returns, nothing has been answered.
pub(crate) async fn begin(core: &Arc<RuntimeCore>, request: TurnRequest) -> Result<Turn> {
    let loaded = core.loaded();
    let (agent, hooks) = loaded.agent(&request.agent)?;
    let ambit = loaded.acting_as(&request.authorized.caller());
    let session = chats::open(
        &ambit,
        &request.authorized,
        &agent.id,
        request.chat.as_deref(),
    )
    .await?;
    hold(&session, &request).await?;
    let context = session.context().clone();
    let limits = *hooks.limits();
    core.stores.options().fault_points.reach("turn.held");
    let begun = match recover::settle_orphans(core, &session).await {
        Ok(()) => record(core, (loaded, limits), &agent, session, request).await,
        Err(error) => Err(error),
    };
    if begun.is_err() {
        context.discard();
        if let Err(error) = context.end_turn().await {
            tracing::warn!(%error, "a conversation was not given back; its lease will expire");
        }
    }
    begun
}

/// Takes the conversation's lease, and says which turn has it if that is refused.
async fn hold(session: &LiveAgent, request: &TurnRequest) -> Result<()> {
    let context = session.context();
    if let Err(error) = context.begin_turn(request.on_busy).await {
        let mut error = Error::from(error);
        if error.code == ErrorCode::ChatBusy {
            let (space, driver) = context.place();
            let running = recover::open_turns(&driver, &space.digest()).await?;
            let running = running.first().map(|open| open.request_id.clone());
            error.message = "another turn of this chat is running; wait for it, or send on_busy: \"queue\" or \"interrupt\"".to_owned();
            error.details = running.map(|id| Box::new(json!({"request_id": id})));
        }
        return Err(error);
    }
    Ok(())
}

async fn record(
    core: &Arc<RuntimeCore>,
    (loaded, limits): (Arc<LoadedApp>, AgentLimits),
    agent: &AppAgent,
    session: LiveAgent,
    mut request: TurnRequest,
) -> Result<Turn> {
    let clock = core.stores.options().clock.clone();
    let request_id = request.id.take();
    let request_id = request_id.unwrap_or_else(|| ids::ordered(&clock));
    let ids = TurnIds {
        context_id: journal::context_id(&request_id),
        request_id,
        chat_id: session.chat_name().unwrap_or_default().to_owned(),
    };
    request.chat = Some(ids.chat_id.clone());
    let stored = history::load(&loaded, agent, &session, &request).await?;
    if client_results::may_be_known(&request.messages) {
        let seen = history::with_answers(&stored, &request.messages);
        let repeated = repeated_history::repeated(&seen, &request.messages);
        let first_new = client_results::first_new(&seen, &request.messages, repeated)?;
        request.messages.drain(..first_new);
    }
    let started_at = clock.now();
    let parts = TurnParts {
        core: core.clone(),
        loaded,
        limits,
        session,
        request,
        ids,
        started_at,
    };
    let names = parts.names();
    let log = StreamWriter::open(
        parts.place(names.events()),
        stream::StreamOptions::default(),
    );
    let trace_log = log.open_companion(
        parts.place(names.trace()),
        stream::StreamOptions::companion(),
    );
    let trace = parts.trace(&trace_log, &trace::TraceTree::default());
    let outbox = Outbox::new(log.clone(), limits.outbox, clock);
    let calls = parts.place(names.calls());
    let calls = NestedCallJournal::new(calls, core.stores.options().limits.value);
    let spent = TurnUsage::new(parts.session.clone(), names, Some(log));
    let inside = (spent, Some(Arc::new(calls)));
    let mut turn = parts.turn(outbox, (trace, trace_log), inside)?;
    turn.last_seen_message = stored.last().map(|message| message.id.clone());
    turn.history = stored;
    turn.announce(ConversationStarted {
        about: turn.about(),
    })
    .await;
    if let Err(error) = turn.accept_request(agent).await {
        turn.announce(ConversationEnded {
            about: turn.about(),
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
    turn.reach_fault_point("turn.begun");
    Ok(turn)
}

/// What a turn is put together from.
pub(super) struct TurnParts {
    pub core: Arc<RuntimeCore>,
    pub loaded: Arc<LoadedApp>,
    /// What the agent that was asked may use.
    pub limits: AgentLimits,
    pub session: LiveAgent,
    pub request: TurnRequest,
    pub ids: TurnIds,
    pub started_at: i64,
}

impl TurnParts {
    /// Where the turn keeps what it records.
    pub fn names(&self) -> TurnKeys {
        TurnKeys::new(self.session.context().place().0, &self.ids.request_id)
    }

    /// One of its logs. Only the holder of the conversation can write there.
    pub fn place(&self, log: LogKey) -> stream::StreamTarget {
        let context = self.session.context();
        stream::StreamTarget {
            driver: context.place().1,
            log,
            check: context.lease().map(|lease| lease.check()),
        }
    }

    /// A turn that has done nothing yet.
    pub fn turn(
        self,
        outbox: Outbox,
        (trace, trace_log): (Trace, StreamWriter),
        (spent, calls): (Arc<TurnUsage>, Option<Arc<NestedCallJournal>>),
    ) -> Result<Turn> {
        let (names, log) = (self.names(), outbox.log());
        let Self {
            core,
            loaded,
            session,
            limits,
            request,
            ids,
            started_at,
        } = self;
        let info = TurnInfo {
            request_id: ids.request_id.clone(),
            context_id: ids.context_id.clone(),
            chat_id: ids.chat_id.clone(),
            assistant_id: request.agent.clone(),
            status: TurnStatus::Running,
            last_event: 0,
            started_at,
            ended_at: None,
            error: None,
            response: None,
        };
        let clock = core.stores.options().clock.clone();
        let kept = loaded.memory("context", limits.memory_value);
        let memory = Memory::request(clock, request.authorized.tenant(), &ids.context_id, kept)?;
        let inbox = TurnInbox::new(session.context().place().1, names.inbox());
        let heard = (log.clone(), inbox);
        let live = Arc::new(LiveTurn::new(info, heard, request.authorized.clone()));
        let settings = TurnSettings::of(&request);
        Ok(Turn {
            core,
            loaded,
            names,
            session,
            log,
            outbox,
            trace,
            trace_log,
            live_turn: live,
            memory,
            settings,
            parent: None,
            usage: spent,
            calls,
            history: Vec::new(),
            last_seen_message: None,
            replay: JournalReplay::default(),
            running: Default::default(),
            answers: turn_answers::TurnAnswers::default(),
            position: (0, 0),
            inbox: 0,
            keeps_conversation: false,
            request,
            ids,
            started_at,
            // A limit of centuries is none.
            deadline: Instant::now().checked_add(limits.turn),
        })
    }

    /// What the turn's trace says of itself.
    pub fn about_trace(&self) -> trace::TraceSubject {
        trace::TraceSubject {
            trace_id: self.ids.request_id.clone(),
            request_id: self.ids.request_id.clone(),
            chat_id: self.ids.chat_id.clone(),
            assistant_id: self.request.agent.clone(),
        }
    }

    /// The trace over its log, going on from what is stored of it.
    pub fn trace(&self, log: &StreamWriter, before: &trace::TraceTree) -> Trace {
        let is_off = self.request.skip.trace || self.loaded.app.settings.is_trace_off;
        if is_off {
            return Trace::off(&self.ids.request_id);
        }
        let settings = trace::TraceSettings {
            about: self.about_trace(),
            limits: self.limits.trace,
            clock: self.core.stores.options().clock.clone(),
            sink: Box::new(log.clone()),
        };
        Trace::resume(settings, before)
    }
}

impl Turn {
    /// Shows listeners what the turn begins with, and makes the request durable.
    async fn accept_request(&mut self, agent: &AppAgent) -> Result<()> {
        if self.has_listener::<ChatHistoryLoaded>() && !self.request.skip.history {
            let count = self.session.history().count().await?;
            let messages = self.history.iter().map(Json::of);
            let messages = messages.collect::<ambit_storage::Result<Vec<_>>>()?;
            self.announce(ChatHistoryLoaded {
                about: self.about(),
                storage: ChatHistoryStorage::PREFIX.to_owned(),
                count,
                messages,
            })
            .await;
        }
        self.reinject_instructions().await?;
        self.stage_request_messages().await?;
        self.outbox.emit("stream_start", self.start_event(agent));
        self.first_commit().await
    }

    /// Lets listeners change the instructions of a conversation that has begun already, or that the request brings along.
    async fn reinject_instructions(&mut self) -> Result<()> {
        let is_under_way = !self.history.is_empty() || self.request.messages.len() > 1;
        if !is_under_way || !self.has_listener::<BeforeReinjectingInstructions>() {
            return Ok(());
        }
        let leg = AgentRun::first(self)?;
        let plan = ModelCallPlan::new(self, &leg, CreateResult::default())?;
        let own = instructions::instructions(self, &leg, &plan).messages;
        let event = self
            .ask(BeforeReinjectingInstructions {
                about: self.about(),
                instructions: own.clone(),
            })
            .await?;
        if event.instructions != own {
            self.settings.instructions = Some(event.instructions);
        }
        Ok(())
    }

    /// Stages the request's messages, each as listeners leave it.
    async fn stage_request_messages(&mut self) -> Result<()> {
        let mut taken = Vec::new();
        let asked = std::mem::take(&mut self.request.messages);
        for (at, chat) in asked.into_iter().enumerate() {
            let (about, message) = (self.about(), chat);
            let chat = self.ask(BeforeSend { about, message }).await?.message;
            let mut stored = chat_message::from_chat(&format!("messages[{at}]"), &chat)?;
            stored.turn_id = Some(self.ids.request_id.clone());
            stored.extras.insert(
                "message_id".to_owned(),
                format!("{}{}", client_results::OF_CLIENT, at + 1).into(),
            );
            if stored.role == ambit_storage::storage::Role::User {
                stored.extras.insert("type".to_owned(), "user_input".into());
            }
            if !self.request.skip.history {
                self.session.history().add_message(stored).await?;
            }
            taken.push(chat);
        }
        self.request.messages = taken;
        Ok(())
    }

    /// Input, journal, the note that the turn is open and the start of its stream: all or nothing.
    async fn first_commit(&mut self) -> Result<()> {
        let begin = JournalStep::Begin {
            request: Box::new(self.request.clone()),
            ids: self.ids.clone(),
            started_at: self.started_at,
            instructions: self.settings.instructions.clone(),
        };
        let context = self.session.context();
        if context.is_temporary() {
            self.core.temporary.note(self.request.authorized.tenant());
        }
        let open = self.open_note();
        let set = |key, value: Json| BatchWrite::Apply {
            key,
            op: Operation::Set(value.into()),
            life: None,
        };
        let mut writes = vec![
            set(open.key(), Json::of(&open)?),
            set(self.names.info(), Json::of(&*self.live_turn.info())?),
            journal::write(&self.names.journal(), 0, &begin)?,
            self.request_note()?,
        ];
        if self.history.is_empty() && !self.request.skip.history {
            let mut messages = self.request.messages.iter();
            let asked = messages.find(|chat| chat["role"] == "user");
            let text = asked.map(chat_message::text).unwrap_or_default();
            if !text.trim().is_empty() {
                writes.push(chats::entitle(&context.place().0, &text)?);
            }
        }
        let mut told = self.log.take_waiting().await;
        writes.append(&mut told.writes);
        context.stage_with_history(writes);
        let is_new = context.row_id().is_none();
        // Before the note is there: upkeep must not find a turn of this node that it takes for nobody's.
        let (turns, id) = (&self.core.turns, &self.ids.request_id);
        turns.insert(id, self.live_turn.clone());
        if let Err(error) = context.save().await {
            turns.remove(id, &self.live_turn);
            self.live_turn.end();
            return Err(error.into());
        }
        told.stored();
        if is_new {
            // What the conversation's first save made is known only now: the note goes again with the next step.
            context.stage_with_history([self.request_note()?]);
        }
        self.replay.add(begin);
        Ok(())
    }
}
