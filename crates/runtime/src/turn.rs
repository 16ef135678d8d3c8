//! A turn: one request from its first step to its last.
//!
//! `begin` holds the conversation and records the input. Then, for the agent that was asked and for each one it hands over to:
//! `Create` → the model, with its tools → `Next`. `close` commits what was said and ends the stream.

mod arguments;

mod answers;
mod begin;
mod call;
mod close;
mod fit;
mod fork;
mod history;
mod interrupt;
mod keep;
mod known;
mod leg;
mod media;
mod meter;
mod model;
mod next;
mod outside;
mod parts;
mod plan;
mod prompt;
mod recover;
mod replay;
mod results;
mod round;
mod running;
mod said;
mod stage;
mod title;
mod tools;
mod voice;

pub(crate) use begin::begin;
pub(crate) use recover::{Failing, recover_all};
pub(crate) use title::AT_ONCE as TITLES;

use crate::error::{Code, Error, Result};
use crate::journal::{Ids, Names};
use crate::live::{Live, Stop};
use crate::loaded::Loaded;
use crate::outbox::Outbox;
use crate::request::Request;
use crate::runtime::Core;
use crate::stream::Log;
use crate::trace::Trace;
use ambit_storage::LiveAgent;
use ambit_storage::memory::Memory;
use ambit_storage::storage::Message;
use futures::FutureExt;
use leg::{Handover, Leg};
use next::Response;
use replay::Replay;
use running::Running;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};

/// A request in flight: everything that belongs to it and to nobody else.
pub(crate) struct Turn {
    core: Arc<Core>,
    /// The app as it was when the turn began.
    loaded: Arc<Loaded>,
    request: Request,
    ids: Ids,
    names: Names,
    /// The conversation.
    session: LiveAgent,
    log: Log,
    outbox: Outbox,
    trace: Trace,
    trace_log: Log,
    live: Arc<Live>,
    /// What `ctx.memory.context` keeps.
    memory: Memory,
    /// What hooks have changed for those that come after them.
    settings: Settings,
    /// What this turn is within, if it is within another one.
    fork: Option<fork::Fork>,
    /// What its models have used, those of calls from inside it included.
    spent: Arc<meter::Spent>,
    /// What the calls from inside it have done, if that is kept.
    calls: Option<Arc<fork::Calls>>,
    /// The end of what was stored before the turn.
    history: Vec<Message>,
    /// The last stored message that was looked at.
    seen: Option<String>,
    /// What has been journalled.
    replay: Replay,
    /// The tool calls of the round that is under way.
    running: Running,
    /// What the models of the turn have said.
    said: said::Said,
    /// The leg and the round that are under way.
    at: (usize, usize),
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
struct Settings {
    locale: String,
    theme: String,
    route: String,
    metadata: Map<String, Value>,
    /// The tool servers that the `Create` of a leg has named.
    servers: Option<(usize, Arc<Vec<Value>>)>,
    /// The instructions as a listener left them.
    instructions: Option<Vec<Value>>,
}

impl Settings {
    /// As the request has them.
    fn of(request: &Request) -> Self {
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
            if !matches!(end, Err(Stop::Restart)) {
                break end;
            }
            match self.begin_anew().await {
                Ok(None) => {}
                Ok(Some(stop)) => break Err(stop),
                Err(error) => break Ok(Err(error)),
            }
        };
        // Why it was left, if it was, is logged there.
        let _ = close::close(self, end).await;
    }

    /// Drops the work at once where the turn has to stop; what has been said so far is kept by the outbox.
    async fn work(&mut self) -> Result<Result<Response>, Stop> {
        let (live, lease, inbox) = (
            self.live.clone(),
            self.session.context().lease(),
            self.inbox,
        );
        tokio::select! {
            biased;
            stop = live.stopped(lease.as_ref()) => Err(stop),
            stop = live.inbox.forced(inbox) => Err(stop),
            () = passed(self.deadline) => Ok(Err(late())),
            outcome = AssertUnwindSafe(self.answer()).catch_unwind() => {
                let defect = |_| Err(Error::internal("a defect of Ambit ended this turn"));
                Ok(outcome.unwrap_or_else(defect))
            }
        }
    }

    async fn answer(&mut self) -> Result<Response> {
        // What was done before is passed over once more, and said once more.
        self.said.tools.clear();
        let mut leg = Leg::first(self)?;
        loop {
            self.at = (leg.at, 0);
            if let Some(delegate) = leg.handed_over(self) {
                leg = leg.delegate(self, delegate).await?;
                continue;
            }
            match self.leg(&leg).await? {
                Handover::Done(mut response) => {
                    self.structured(&mut response).await?;
                    return Ok(*response);
                }
                Handover::To(delegate) => leg = leg.delegate(self, delegate).await?,
            }
        }
    }

    /// One agent's part of the turn.
    async fn leg(&mut self, leg: &Leg) -> Result<Handover> {
        if leg.call.skip.history {
            // What was said before this agent is stored all the same.
            self.store_answers().await?;
        }
        let handover = self.steps(leg).await;
        if leg.call.skip.history {
            self.leave_unstored();
        }
        handover
    }

    async fn steps(&mut self, leg: &Leg) -> Result<Handover> {
        let created = leg.create(self).await?;
        if let Some(delegate) = created.delegate.clone() {
            return Ok(Handover::To(delegate));
        }
        let answer = model::converse(self, leg, created).await;
        next::next(self, leg, answer).await
    }

    /// A place where a test may end the process.
    fn reach(&self, point: &'static str) {
        self.core.stores.options().fault_points.reach(point);
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn late() -> Error {
    let message =
        "the turn took longer than the limit \"turn\" allows; ambit.limits in app.yao sets it";
    Error::new(Code::Timeout, message)
}
