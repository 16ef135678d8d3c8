//! The beginning of a turn: the conversation is found and held, and the input is durable before anything is answered.

use super::event::{BeforeSend, ConversationStarted};
use super::replay::Replay;
use super::{Settings, Turn, model, recover};
use crate::app::Agent;
use crate::error::{Code, Error, Result};
use crate::journal::{self, Ids, Names, Open, Step};
use crate::live::Live;
use crate::loaded::Loaded;
use crate::outbox::Outbox;
use crate::request::Request;
use crate::runtime::{Core, Status, TurnInfo};
use crate::stream::{self, Log};
use crate::trace::Trace;
use crate::{chats, message, requests};
use ambit_storage::batch::Write;
use ambit_storage::json::Json;
use ambit_storage::memory::Memory;
use ambit_storage::op::Op;
use ambit_storage::storage::Message;
use ambit_storage::{LiveAgent, ids};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many messages of history a model sees where nothing else is said.
const HISTORY: usize = 20;

/// Holds the conversation and records the request. Until this returns, nothing has been answered.
pub(crate) async fn begin(core: &Arc<Core>, request: Request) -> Result<Turn> {
    let loaded = core.loaded();
    let (agent, _) = loaded.agent(&request.agent)?;
    let ambit = loaded.acting_as(&request.authorized.caller());
    let session = chats::open(&ambit, &request.agent, request.chat.as_deref()).await?;
    hold(core, &session, &request).await?;
    let context = session.context().clone();
    let begun = record(core, loaded, &agent, session, request).await;
    if begun.is_err() {
        context.discard();
        context.end_turn().await?;
    }
    begun
}

/// Takes the conversation's lease, and says which turn has it if that is refused.
async fn hold(core: &Arc<Core>, session: &LiveAgent, request: &Request) -> Result<()> {
    let context = session.context();
    if let Err(error) = context.begin_turn(request.on_busy).await {
        let mut error = Error::from(error);
        if error.code == Code::ChatBusy {
            let (space, driver) = context.place();
            let running = recover::open_turns(&driver, &space.digest()).await?;
            let running = running.first().map(|open| open.request_id.clone());
            error.message = "another turn of this chat is running; wait for it, or send on_busy: \"queue\" or \"interrupt\"".to_owned();
            error.details = running.map(|id| Box::new(json!({"request_id": id})));
        }
        return Err(error);
    }
    recover::settle_orphans(core, context).await
}

async fn record(
    core: &Arc<Core>,
    loaded: Arc<Loaded>,
    agent: &Agent,
    session: LiveAgent,
    mut request: Request,
) -> Result<Turn> {
    let clock = core.stores.options().clock.clone();
    let ids = Ids {
        request_id: ids::ordered(&clock),
        context_id: ids::unguessable(),
        chat_id: session.chat_name().unwrap_or_default().to_owned(),
    };
    let started_at = clock.now();
    request.chat = Some(ids.chat_id.clone());
    let stored = stored_history(&loaded, agent, &session, &request).await?;
    let repeated = message::repeated(&stored, &request.messages);
    request.messages.drain(..repeated);
    let mut turn = assemble(core, loaded, session, (request, ids, started_at))?;
    turn.history = stored;
    turn.announce(ConversationStarted { about: turn.about() }).await;
    turn.take_in().await?;
    turn.outbox.emit("stream_start", turn.start_event(agent));
    turn.first_commit().await?;
    Ok(turn)
}

/// The end of the stored history, as models know it; empty where the turn leaves history alone.
pub(super) async fn stored_history(
    loaded: &Loaded,
    agent: &Agent,
    session: &LiveAgent,
    request: &Request,
) -> Result<Vec<Value>> {
    if request.skip.history {
        return Ok(Vec::new());
    }
    let wanted = history_size(loaded, agent);
    // A client that sends everything again sends more than the model is shown.
    let loaded = session.history().tail(wanted.max(2 * request.messages.len())).await?;
    Ok(chat_view(&loaded, None))
}

/// How many messages of history a model of this agent sees.
pub(super) fn history_size(loaded: &Loaded, agent: &Agent) -> usize {
    let sizes = [agent.history_size, loaded.app.defaults.history_size];
    sizes.into_iter().flatten().next().unwrap_or(HISTORY)
}

/// Stored messages as a model may see them: calls and results in pairs, what is only for show left out, and without what
/// belongs to this turn.
pub(super) fn chat_view(messages: &[Message], turn: Option<&str>) -> Vec<Value> {
    let before = messages.iter().filter(|message| turn.is_none() || message.turn_id.as_deref() != turn);
    let before: Vec<Message> = before.cloned().collect();
    let paired = ambit_storage::storage::for_model(&before);
    paired.iter().filter_map(message::to_chat).collect()
}

/// A turn of these parts that has done nothing yet.
pub(super) fn assemble(
    core: &Arc<Core>,
    loaded: Arc<Loaded>,
    session: LiveAgent,
    (request, ids, started_at): (Request, Ids, i64),
) -> Result<Turn> {
    let context = session.context();
    let (space, driver) = context.place();
    let names = Names::new(space, &ids.request_id);
    let check = context.lease().map(|lease| lease.check());
    let place = |log| stream::Place { driver: driver.clone(), log, check: check.clone() };
    let log = Log::open(place(names.events()), stream::Options::default());
    let trace = Trace::new(&ids.request_id, Log::open(place(names.trace()), stream::Options::trace()), &request.skip);
    let outbox = Outbox::new(log.clone(), core.stores.options().clock.clone());
    let info = TurnInfo {
        request_id: ids.request_id.clone(),
        context_id: ids.context_id.clone(),
        chat_id: ids.chat_id.clone(),
        assistant_id: request.agent.clone(),
        status: Status::Running,
        last_event: 0,
        started_at,
        ended_at: None,
        error: None,
        response: None,
    };
    let tenant = request.authorized.tenant().to_owned();
    let memory = Memory::request(core.stores.options().clock.clone(), &tenant, &ids.context_id, core.memory)?;
    let live = Arc::new(Live::new(info, log.clone(), request.authorized.clone()));
    let settings = Settings {
        locale: request.origin.locale.clone(),
        theme: request.origin.theme.clone(),
        route: request.origin.route.clone(),
        metadata: request.metadata.clone(),
    };
    Ok(Turn {
        core: core.clone(),
        loaded,
        names,
        session,
        log,
        outbox,
        trace,
        live,
        memory,
        settings,
        history: Vec::new(),
        replay: Replay::default(),
        said: model::Said::default(),
        request,
        ids,
        started_at,
    })
}

impl Turn {
    /// Stages the request's messages, each as listeners leave it.
    async fn take_in(&mut self) -> Result<()> {
        let mut taken = Vec::new();
        for (at, chat) in std::mem::take(&mut self.request.messages).into_iter().enumerate() {
            let event = BeforeSend { about: self.about(), message: chat };
            let chat = self.ask(event).await?.message;
            let mut stored = message::from_chat(&format!("messages[{at}]"), &chat)?;
            stored.turn_id = Some(self.ids.request_id.clone());
            stored.extras.insert("message_id".to_owned(), format!("U{}", at + 1).into());
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
        let begin = Step::Begin {
            request: Box::new(self.request.clone()),
            ids: self.ids.clone(),
            started_at: self.started_at,
        };
        let context = self.session.context();
        let open = self.open_note();
        let set = |key, value: Json| Write::Apply { key, op: Op::Set(value.into()), life: None };
        let mut writes = vec![
            set(open.key(), Json::of(&open)?),
            set(self.names.info(), Json::of(&*self.live.info())?),
            journal::write(&self.names.journal(), 0, &begin)?,
        ];
        let (waiting, through) = self.log.take_waiting();
        writes.extend(waiting);
        context.stage_beside(writes);
        context.save().await?;
        self.log.stored(through);
        self.replay.add(begin);
        if let Some(row) = context.row_id() {
            let note = requests::note(self.request.authorized.tenant(), &self.ids.request_id, &row)?;
            context.stage_beside([note]);
            self.log.stage_beside(vec![]);
        }
        self.core.turns.insert(&self.ids.request_id, self.live.clone());
        Ok(())
    }

    /// The note by which every node finds this turn while it is open.
    pub(super) fn open_note(&self) -> Open {
        let context = self.session.context();
        Open {
            tenant: self.request.authorized.tenant().to_owned(),
            agent: self.request.agent.clone(),
            base: context.identity().clone(),
            space: context.place().0,
            request_id: self.ids.request_id.clone(),
        }
    }

    fn start_event(&self, agent: &Agent) -> Value {
        let app = &self.loaded.app;
        let locale = &self.settings.locale;
        let text = |text: &str| app.translate(agent, locale, text);
        json!({
            "context_id": self.ids.context_id,
            "request_id": self.ids.request_id,
            "timestamp": self.started_at,
            "chat_id": self.ids.chat_id,
            "trace_id": self.ids.request_id,
            "assistant": {
                "assistant_id": agent.id,
                "type": if agent.is_worker { "worker" } else { "assistant" },
                "name": text(&agent.name),
                "avatar": agent.avatar,
                "description": text(&agent.description),
            },
            "metadata": self.request.metadata,
        })
    }
}
