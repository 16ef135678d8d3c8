//! What holds for a request as long as its turn runs: who asked what, of which version of the app, what hooks have changed for
//! the rest of the turn, and the listeners.

use super::conversation::Conversation;
use crate::app::AppAgent;
use crate::chat::ChatMessage;
use crate::error::{Disclosure, Error, ErrorCode, Result};
use crate::event::{AfterSend, BeforeSaveHistory};
use crate::hook::CreateResult;
use crate::journal::{OpenTurn, TurnIds, TurnKeys};
use crate::live_turn::LiveTurn;
use crate::loaded_app::LoadedApp;
use crate::log_words::{EchoFilter, VETOED};
use crate::request::TurnRequest;
use crate::retention::RetentionPeriods;
use crate::runtime_core::RuntimeCore;
use crate::tool::ServerSelection;
use crate::turn_info::TurnStatus;
use crate::turn_location;
use ambit_storage::SessionIdentity;
use ambit_storage::batch::BatchWrite;
use ambit_storage::event::{
    After, Before, ChatHistorySaving, ContextSaving, Event, EventMetadata, MessageAdded,
    MessageAdding,
};
use ambit_telemetry::table;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Span;

/// A request in flight, apart from what is said and done for it.
pub(super) struct RequestContext {
    pub core: Arc<RuntimeCore>,
    /// The app as it was when the turn began.
    pub loaded: Arc<LoadedApp>,
    pub request: TurnRequest,
    pub ids: TurnIds,
    pub keys: TurnKeys,
    /// What the request says, as hooks have changed it.
    pub settings: TurnSettings,
    /// The agents of the turn from inside which this one was called, the one that was asked first. Empty in a turn that a
    /// request began.
    pub callers: Vec<String>,
    /// The identity of the conversation.
    pub identity: SessionIdentity,
    /// What the outside sees of the turn and sends to it.
    pub live: Arc<LiveTurn>,
    pub started_at: i64,
    /// What it is for, where it is a step of another turn beside that one's answer.
    pub purpose: Option<&'static str>,
    /// The step for which Ambit itself asks a model with this turn.
    pub builtin_step: Option<String>,
    /// When the turn ends in any case; what was before a restart does not count.
    pub deadline: Option<Instant>,
}

/// What `Create` may change for the rest of the turn.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnSettings {
    pub locale: String,
    pub theme: String,
    pub route: String,
    pub metadata: Map<String, Value>,
    /// Models are offered no tools of the client, those of agents that are called from inside included.
    pub omits_client_tools: bool,
    /// The tool servers that the latest `Create` has named.
    pub servers: Option<CreatedServers>,
    /// The instructions as a listener left them.
    pub instructions: Option<Vec<ChatMessage>>,
}

/// The tool servers that `Create` of an agent has named, for this agent alone.
#[derive(Clone, Debug)]
pub(super) struct CreatedServers {
    pub run: usize,
    pub servers: Arc<Vec<ServerSelection>>,
}

impl TurnSettings {
    /// As the request has them.
    pub fn of(request: &TurnRequest) -> Self {
        Self {
            locale: request.origin.locale.clone(),
            theme: request.origin.theme.clone(),
            route: request.origin.route.clone(),
            metadata: request.metadata.clone(),
            omits_client_tools: request.omits_client_tools,
            servers: None,
            instructions: None,
        }
    }

    /// Takes over what `Create` says of the rest of the turn.
    pub fn apply(&mut self, created: &CreateResult) {
        let texts = [
            (&mut self.locale, &created.locale),
            (&mut self.theme, &created.theme),
            (&mut self.route, &created.route),
        ];
        for (setting, text) in texts {
            if let Some(text) = text {
                setting.clone_from(text);
            }
        }
        self.metadata.extend(created.metadata.clone());
    }
}

impl RequestContext {
    /// The id of the turn.
    pub fn id(&self) -> &str {
        &self.ids.request_id
    }

    /// How much is told of what goes on inside.
    pub fn disclosure(&self) -> Disclosure {
        self.core.making.disclosure
    }

    /// Why something failed, where the log does not say it yet; without words of what was asked.
    pub fn unlogged(&self, error: &Error) -> Option<String> {
        if error.is_logged {
            return None;
        }
        if error.code == ErrorCode::Vetoed {
            return Some(VETOED.to_owned());
        }
        let said = EchoFilter::of(&json!(self.request.messages));
        Some(said.logged(&error.message, self.disclosure()))
    }

    /// What every line of the log says of the turn. It is of the level of errors, so that it is there whatever the log tells, and no part
    /// of the request's, which is answered before.
    pub fn span(&self) -> Span {
        let user = self.request.authorized.user_id.as_deref();
        tracing::error_span!(
            parent: None,
            "turn",
            request.id = self.id(),
            chat.id = self.ids.chat_id.as_str(),
            agent.id = self.request.agent.as_str(),
            user.id = user,
        )
    }

    /// Whether the turn was called from inside another one.
    pub fn is_nested(&self) -> bool {
        !self.callers.is_empty()
    }

    pub fn now(&self) -> i64 {
        self.core.stores.options().clock.now()
    }

    /// Counts the turn, which has ended, and wakes whoever sends its trace.
    pub fn count_end(&self, status: TurnStatus) {
        let (agent, metrics) = (self.request.agent.as_str(), self.core.metrics());
        metrics.count(&table::TURNS, [agent, status.as_str()]);
        let seconds = (self.now() - self.started_at) as f64 / 1_000.0;
        metrics.observe(&table::TURN_SECONDS, [agent], seconds.max(0.0));
        if let Some(telemetry) = &self.core.telemetry {
            telemetry.turn_ended.notify_one();
        }
    }

    /// A point where a test may end the process.
    pub fn reach_fault_point(&self, point: &'static str) {
        self.core.stores.options().fault_points.reach(point);
    }

    /// The first entry of the stream.
    pub fn start_event(&self, agent: &AppAgent) -> Value {
        let app = &self.loaded.app;
        let words = app.words(agent, &self.settings.locale);
        let text = |text: &str| words.fill(text).into_owned();
        let mut start = json!({
            "context_id": self.ids.context_id,
            "request_id": self.ids.request_id,
            "timestamp": self.started_at,
            "chat_id": self.ids.chat_id,
            "trace_id": self.ids.request_id,
            "assistant": {
                "assistant_id": agent.id,
                "type": if agent.is_worker() { "worker" } else { "assistant" },
                "name": text(&agent.package.name),
                "avatar": agent.package.avatar,
                "description": text(&agent.package.description),
            },
            "metadata": self.request.metadata,
        });
        if let Some(first) = &self.request.continues {
            start["continues"] = first.as_str().into();
        }
        start
    }

    /// How long the logs of the turn are kept after its end.
    pub fn retention(&self) -> RetentionPeriods {
        RetentionPeriods::of(&self.loaded.app.settings)
    }

    /// The note by which every node finds this turn while it is open.
    pub fn open_note(&self, conversation: &Conversation) -> OpenTurn {
        OpenTurn {
            tenant: self.request.authorized.tenant().to_owned(),
            agent: self.request.agent.clone(),
            base: self.identity.clone(),
            space: conversation.space(),
            request_id: self.ids.request_id.clone(),
            node: Some(self.core.making.node.id.clone()),
        }
    }

    /// The note by which the turn is found by its id alone. Where the conversation lasts, it has this life: while the turn is
    /// open none, as the last commit gives it one. What has no end is not in a store's index of ends.
    pub fn request_note(
        &self,
        conversation: &Conversation,
        life: Option<Duration>,
    ) -> Result<BatchWrite> {
        let context = conversation.session.context();
        let life = match context.is_temporary() {
            true => Some(context.ambit().settings().temporary_life),
            false => life,
        };
        turn_location::note(context, self.id(), life)
    }
}

/// Listeners.
impl RequestContext {
    /// What the events of this turn say of it.
    pub fn about(&self) -> EventMetadata {
        let tenant = self.request.authorized.tenant();
        let mut about = EventMetadata::new(tenant, self.identity.clone(), self.now());
        about.turn_id = Some(self.ids.request_id.clone());
        about.caller_id.clone_from(&self.request.authorized.user_id);
        about
    }

    pub fn has_listener<E: Event>(&self) -> bool {
        self.loaded.ambit.bus().has_listeners::<E>()
    }

    /// Asks listeners about what is going to happen; they may change or veto it.
    pub async fn ask<E: Before>(&self, event: E) -> Result<E> {
        Ok(self.loaded.ambit.bus().ask(event).await?)
    }

    /// Tells listeners what has happened.
    pub async fn announce<E: After>(&self, event: E) {
        self.loaded.ambit.bus().notify(event).await;
    }

    /// Whether a listener can tell that the last answer is stored before the turn is closed.
    pub fn has_history_listener(&self) -> bool {
        self.has_listener::<AfterSend>()
            || self.has_listener::<BeforeSaveHistory>()
            || self.has_listener::<ContextSaving>()
            || self.has_listener::<ChatHistorySaving>()
            || self.has_listener::<MessageAdding>()
            || self.has_listener::<MessageAdded>()
    }
}
