//! Putting a turn together: one that begins, one that is taken up again, or one that is called from inside another.

use super::Turn;
use super::conversation::Conversation;
use super::output::TurnOutput;
use super::request_context::{RequestContext, TurnSettings};
use super::turn_journal::{StepLog, TurnJournal};
use super::usage::TurnUsage;
use crate::error::Result;
use crate::inbox::TurnInbox;
use crate::journal::{TurnIds, TurnKeys};
use crate::limits::AgentLimits;
use crate::live_turn::LiveTurn;
use crate::loaded_app::LoadedApp;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::stream::{StreamOptions, StreamTarget, StreamWriter};
use crate::trace::{Trace, TraceOrigin, TraceSettings, TraceSubject, TraceTree};
use crate::trace_context::{ExternalTrace, TracePropagation};
use crate::turn_info::{TurnInfo, TurnStatus, TurnTotals};
use ambit_storage::address::LogKey;
use ambit_storage::memory::Memory;
use ambit_storage::{LiveAgent, ids};
use std::sync::Arc;
use tokio::time::Instant;

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
    /// Those of a turn that gets a new id and is not begun.
    pub fn inside(
        core: &Arc<RuntimeCore>,
        loaded: Arc<LoadedApp>,
        session: LiveAgent,
        request: TurnRequest,
    ) -> Result<Self> {
        let (_, hooks) = loaded.agent(&request.agent)?;
        let clock = &core.stores.options().clock;
        let request_id = ids::ordered(clock);
        Ok(Self {
            core: core.clone(),
            limits: *hooks.limits(),
            ids: TurnIds::of(request_id, &session),
            started_at: clock.now(),
            loaded,
            session,
            request,
        })
    }

    pub fn keys(&self) -> TurnKeys {
        TurnKeys::new(self.session.context().place().0, &self.ids.request_id)
    }

    /// One of the turn's logs. Only the holder of the conversation can write there.
    pub fn target(&self, log: LogKey) -> StreamTarget {
        let context = self.session.context();
        StreamTarget {
            driver: context.place().1,
            log,
            check: context.lease().map(|lease| lease.check()),
        }
    }

    /// The trace over its log, going on from what is stored of it.
    pub fn trace(&self, log: &StreamWriter, before: &TraceTree) -> Trace {
        let id = &self.ids.request_id;
        let is_off = self.request.skip.trace || !self.loaded.app.settings.trace.enabled;
        if is_off {
            return Trace::off(id).propagating(self.propagation(false));
        }
        let is_sent = self.core.sends_traces();
        let (agent, locale) = (&self.request.agent, &self.request.origin.locale);
        let user_id = self.request.authorized.user_id.clone();
        let settings = TraceSettings {
            about: TraceSubject {
                trace_id: id.clone(),
                request_id: id.clone(),
                chat_id: self.ids.chat_id.clone(),
                assistant_id: agent.clone(),
            },
            origin: TraceOrigin {
                user_id: user_id.filter(|_| is_sent),
                context: self.request.origin.trace_context.clone(),
            },
            agent: self.loaded.agent_facts(agent, locale),
            propagation: self.propagation(is_sent),
            limits: self.limits.trace,
            clock: self.core.stores.options().clock.clone(),
            sink: Box::new(log.clone()),
        };
        Trace::resume(settings, before)
    }

    /// What requests to others say of the turn, if there is anybody who may know.
    fn propagation(&self, is_sent: bool) -> Option<TracePropagation> {
        let hosts = &self.loaded.propagate;
        let caller = self.request.origin.trace_context.clone();
        let trace = ExternalTrace::of(&self.ids.request_id, caller);
        let share = self.loaded.app.settings.telemetry.sample;
        (!hosts.is_empty()).then(|| TracePropagation {
            hosts: hosts.clone(),
            is_sent: is_sent && trace.is_sampled(share),
            trace,
        })
    }

    /// A turn that is not begun, for what is only asked from inside it. Nothing of it is kept but what is booked apart.
    pub fn unbegun(self, usage_apart: Option<LiveAgent>) -> Result<Turn> {
        let trace = Trace::off(&self.ids.request_id);
        let usage = TurnUsage::new(&self, None, usage_apart);
        self.unbegun_with(trace, usage)
    }

    /// The same for what is asked behind the end of a turn, whose trace this is, and which has made so many calls of models.
    pub fn behind(self, trace: Trace, calls: u64) -> Result<Turn> {
        let usage = TurnUsage::behind(&self, calls);
        self.unbegun_with(trace, usage)
    }

    fn unbegun_with(self, trace: Trace, usage: Arc<TurnUsage>) -> Result<Turn> {
        let keys = self.keys();
        let clock = self.core.stores.options().clock.clone();
        let stream = StreamWriter::open(self.target(keys.events()), StreamOptions::transient());
        let outbox = Outbox::new(stream.clone(), self.limits.outbox, clock);
        self.build(
            TurnJournal::new(StepLog::None, usage, None),
            TurnOutput::new(outbox, trace, stream),
        )
    }

    pub fn build(self, journal: TurnJournal, output: TurnOutput) -> Result<Turn> {
        let keys = self.keys();
        let info = TurnInfo {
            request_id: self.ids.request_id.clone(),
            context_id: self.ids.context_id.clone(),
            chat_id: self.ids.chat_id.clone(),
            context: None,
            assistant_id: self.request.agent.clone(),
            status: TurnStatus::Running,
            last_event: 0,
            started_at: self.started_at,
            ended_at: None,
            error: None,
            response: None,
            user_id: self.request.authorized.user_id.clone(),
            acted_by: self.request.authorized.acted_by(),
            totals: TurnTotals::default(),
        };
        let inbox = TurnInbox::new(self.session.context().place().1, keys.inbox());
        let live = LiveTurn::new(info, output.stream.clone(), inbox, &self.request);
        let memory = Memory::request(
            self.core.stores.options().clock.clone(),
            self.request.authorized.tenant(),
            &self.ids.context_id,
            self.loaded.memory("context", self.limits.memory_value),
        )?;
        let identity = self.session.context().identity().clone();
        Ok(Turn {
            conversation: Conversation::new(self.session, memory, &self.request),
            context: RequestContext {
                core: self.core,
                loaded: self.loaded,
                settings: TurnSettings::of(&self.request),
                request: self.request,
                ids: self.ids,
                keys,
                callers: Vec::new(),
                identity,
                live: Arc::new(live),
                started_at: self.started_at,
                purpose: None,
                builtin_step: None,
                // A limit of centuries is none.
                deadline: Instant::now().checked_add(self.limits.turn),
            },
            journal,
            output,
        })
    }
}
