//! A turn: one request from its first step to its last.
//!
//! `begin` holds the conversation and records the input. Then, for the agent that was asked and for each one it hands over to:
//! `Create` → the model, with its tools → `Next`. `close` commits what was said and ends the stream.

mod tool_arguments;

mod agent_run;
mod answer_writer;
mod appended_messages;
mod call_plan;
mod client_results;
mod close;
mod context_window;
mod converse;
mod history;
mod instructions;
mod interrupt;
mod media;
mod model_call;
mod nested_turn;
mod next;
mod offered_tools;
mod open;
mod persist;
mod recover;
mod repeated_history;
mod replay;
mod running_tool_calls;
mod scope;
mod store_messages;
mod title;
mod tool_results;
mod tool_round;
mod turn_answers;
mod usage;

pub(crate) use open::begin;
pub(crate) use recover::{RecoveryBackoff, recover_all};
pub(crate) use title::AT_ONCE as TITLES;

use crate::error::{Error, ErrorCode, Result};
use crate::journal::{TurnIds, TurnKeys};
use crate::live_turn::{LiveTurn, TurnStopReason};
use crate::loaded_app::LoadedApp;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime::RuntimeCore;
use crate::stream::StreamWriter;
use crate::trace::Trace;
use agent_run::{AgentRun, AgentRunOutcome};
use ambit_storage::LiveAgent;
use ambit_storage::memory::Memory;
use ambit_storage::storage::Message;
use futures::FutureExt;
use next::TurnResponse;
use replay::JournalReplay;
use running_tool_calls::RunningToolCalls;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};

/// A request in flight: everything that belongs to it and to nobody else.
pub(crate) struct Turn {
    core: Arc<RuntimeCore>,
    /// The app as it was when the turn began.
    loaded: Arc<LoadedApp>,
    request: TurnRequest,
    ids: TurnIds,
    names: TurnKeys,
    /// The conversation.
    session: LiveAgent,
    log: StreamWriter,
    outbox: Outbox,
    trace: Trace,
    trace_log: StreamWriter,
    live_turn: Arc<LiveTurn>,
    /// What `ctx.memory.context` keeps.
    memory: Memory,
    /// What hooks have changed for those that come after them.
    settings: TurnSettings,
    /// What this turn is within, if it is within another one.
    parent: Option<nested_turn::ParentTurn>,
    /// What its models have used, those of calls from inside it included.
    usage: Arc<usage::TurnUsage>,
    /// What the calls from inside it have done, if that is kept.
    calls: Option<Arc<nested_turn::NestedCallJournal>>,
    /// The end of what was stored before the turn.
    history: Vec<Message>,
    /// The last stored message that was looked at.
    last_seen_message: Option<String>,
    /// What has been journalled.
    replay: JournalReplay,
    /// The tool calls of the round that is under way.
    running: RunningToolCalls,
    /// What the models of the turn have said.
    answers: turn_answers::TurnAnswers,
    /// The leg and the round that are under way.
    position: (usize, usize),
    /// The turn is closed for the sake of the next one, which holds the conversation.
    keeps_conversation: bool,
    /// How much of what was sent to the turn is taken in.
    inbox: u64,
    started_at: i64,
    /// When it ends in any case; what was before a restart does not count.
    deadline: Option<Instant>,
}

/// What `Create` may change for the rest of the turn.
#[derive(Clone, Debug, Default)]
struct TurnSettings {
    locale: String,
    theme: String,
    route: String,
    metadata: Map<String, Value>,
    /// The tool servers that the `Create` of a leg has named.
    servers: Option<(usize, Arc<Vec<Value>>)>,
    /// The instructions as a listener left them.
    instructions: Option<Vec<Value>>,
}

impl TurnSettings {
    /// As the request has them.
    fn of(request: &TurnRequest) -> Self {
        Self {
            locale: request.origin.locale.clone(),
            theme: request.origin.theme.clone(),
            route: request.origin.route.clone(),
            metadata: request.metadata.clone(),
            servers: None,
            instructions: None,
        }
    }
}

impl Turn {
    /// Works until there is an answer, a failure or a reason to stop, and closes the turn.
    pub async fn run(mut self) {
        let end = loop {
            let end = self.work().await;
            self.running.stop();
            if !matches!(end, Err(TurnStopReason::Restart)) {
                break end;
            }
            match self.restart().await {
                Ok(None) => {}
                Ok(Some(stop)) => break Err(stop),
                Err(error) => break Ok(Err(error)),
            }
        };
        // Why it was left, if it was, is logged there.
        let _ = close::close(self, end).await;
    }

    /// Drops the work at once where the turn has to stop; what has been said so far is kept by the outbox.
    async fn work(&mut self) -> Result<Result<TurnResponse>, TurnStopReason> {
        let (live, lease, inbox) = (
            self.live_turn.clone(),
            self.session.context().lease(),
            self.inbox,
        );
        tokio::select! {
            biased;
            stop = live.stopped(lease.as_ref()) => Err(stop),
            stop = live.inbox.forced(inbox) => Err(stop),
            () = wait_for_deadline(self.deadline) => Ok(Err(timeout_error())),
            outcome = AssertUnwindSafe(self.run_agents()).catch_unwind() => {
                let defect = |_| Err(Error::internal("a defect of Ambit ended this turn"));
                Ok(outcome.unwrap_or_else(defect))
            }
        }
    }

    async fn run_agents(&mut self) -> Result<TurnResponse> {
        // What was done before is passed over once more, and said once more.
        self.answers.tools.clear();
        let mut leg = AgentRun::first(self)?;
        loop {
            self.position = (leg.index, 0);
            if let Some(delegate) = leg.handed_over(self) {
                leg = leg.delegate(self, delegate).await?;
                continue;
            }
            match self.run_agent(&leg).await? {
                AgentRunOutcome::Done(mut response) => {
                    self.announce_structured_output(&mut response).await?;
                    return Ok(*response);
                }
                AgentRunOutcome::To(delegate) => leg = leg.delegate(self, delegate).await?,
            }
        }
    }

    /// One agent's part of the turn.
    async fn run_agent(&mut self, leg: &AgentRun) -> Result<AgentRunOutcome> {
        if leg.call.skip.history {
            // What was said before this agent is stored all the same.
            self.store_answers().await?;
        }
        let handover = self.run_steps(leg).await;
        if leg.call.skip.history {
            self.leave_unstored();
        }
        handover
    }

    async fn run_steps(&mut self, leg: &AgentRun) -> Result<AgentRunOutcome> {
        let created = leg.create(self).await?;
        if let Some(delegate) = created.delegate.clone() {
            return Ok(AgentRunOutcome::To(delegate));
        }
        let answer = converse::converse(self, leg, created).await;
        next::next(self, leg, answer).await
    }

    /// A place where a test may end the process.
    fn reach_fault_point(&self, point: &'static str) {
        self.core.stores.options().fault_points.reach(point);
    }
}

async fn wait_for_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn timeout_error() -> Error {
    let message =
        "the turn took longer than the limit \"turn\" allows; ambit.limits in app.yao sets it";
    Error::new(ErrorCode::Timeout, message)
}
