//! A turn: one request from its first step to its last.
//!
//! `begin` holds the conversation and records the input. Then, for the agent that was asked and for each one it hands over to:
//! `Create` → the model, with its tools → `Next`. `close` commits what was said and ends the stream.

mod begin;
mod close;
mod interrupt;
mod leg;
mod model;
mod next;
mod parts;
mod plan;
mod prompt;
mod recover;
mod replay;
mod tools;
mod voice;

pub(crate) use begin::begin;
pub(crate) use recover::recover_all;

use crate::error::Result;
use crate::journal::{self, Ids, Names, Step};
use crate::live::{Live, Stop};
use crate::loaded::Loaded;
use crate::outbox::Outbox;
use crate::request::Request;
use crate::runtime::Core;
use crate::stream::Log;
use crate::trace::Trace;
use ambit_storage::LiveAgent;
use ambit_storage::memory::Memory;
use leg::{Handover, Leg};
use next::Response;
use replay::Replay;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// How often a write is tried before the turn fails, and the first wait between two tries.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(50);

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
    /// Stored messages from before the turn, and the request's new ones, as models know them.
    history: Vec<Value>,
    /// What has been journalled.
    replay: Replay,
    /// What the model calls of the turn have used and said.
    said: model::Said,
    /// The leg and the round that are under way.
    at: (usize, usize),
    /// The turn is closed for the sake of the next one, which holds the conversation.
    keeps_conversation: bool,
    /// How much of what was sent to the turn is taken in.
    inbox: u64,
    started_at: i64,
}

/// What `Create` may change for the rest of the turn.
#[derive(Clone, Debug, Default)]
struct Settings {
    locale: String,
    theme: String,
    route: String,
    metadata: Map<String, Value>,
}

impl Turn {
    /// Works until there is an answer, a failure or a reason to stop, and closes the turn.
    pub async fn run(mut self) {
        let end = loop {
            let end = self.work().await;
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
            outcome = self.answer() => Ok(outcome),
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
                Handover::Done(response) => return Ok(*response),
                Handover::To(delegate) => leg = leg.delegate(self, delegate).await?,
            }
        }
    }

    /// One agent's part of the turn.
    async fn leg(&mut self, leg: &Leg) -> Result<Handover> {
        let created = leg.create(self).await?;
        if let Some(delegate) = created.delegate.clone() {
            return Ok(Handover::To(delegate));
        }
        let plan = plan::Plan::new(self, leg, created)?;
        let answer = model::converse(self, leg, &plan).await;
        next::next(self, leg, answer).await
    }

    /// Makes a step durable before the turn goes on. It counts as done from the moment it is staged: the write goes on even if
    /// the turn is broken off meanwhile.
    async fn record(&mut self, step: Step) -> Result<()> {
        self.note(step)?;
        self.save(false).await
    }

    /// Makes all that is staged durable, and gives the conversation back with it if the turn ends. A store that fails for a
    /// moment is waited for.
    async fn save(&self, is_end: bool) -> Result<()> {
        let context = self.session.context();
        let mut pause = PAUSE;
        for left in (0..TRIES).rev() {
            let saved = match is_end {
                true => context.save_and_end_turn().await,
                false => context.save().await,
            };
            match saved {
                Ok(_) => {
                    self.log.clear_beside();
                    return Ok(());
                }
                Err(error) if left == 0 || !may_pass(&error) => return Err(error.into()),
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        Ok(())
    }

    /// A place where a test may end the process.
    fn reach(&self, point: &'static str) {
        self.core.stores.options().fault_points.reach(point);
    }

    /// Notes a step that becomes durable with the next one, or with what is shown next: without it, it would be done once more.
    fn note(&mut self, step: Step) -> Result<()> {
        let write = journal::write(&self.names.journal(), self.replay.count(), &step)?;
        // Whichever comes first: a step of one number is written once.
        self.log.stage_beside(write.clone());
        self.session.context().stage_beside([write]);
        self.replay.add(step);
        Ok(())
    }
}

/// True where the same write may succeed later.
fn may_pass(error: &ambit_storage::Error) -> bool {
    use ambit_storage::Error as Stored;
    matches!(
        error,
        Stored::Unavailable { .. }
            | Stored::Partial { .. }
            | Stored::Conflict { .. }
            | Stored::Busy { .. }
    )
}
