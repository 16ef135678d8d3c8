//! A turn: one request from its first step to its last.
//!
//! `open` takes the conversation's lease and makes the request durable. Then, for the agent that was asked and for each one that
//! it hands over to: `create`, `converse` (model calls and rounds of tool calls), `next`. `close` commits what was said, ends the
//! stream and releases the conversation.

mod agent_run;
mod answers;
mod automatic_search;
mod close;
mod conversation;
mod converse;
mod create;
mod incoming_messages;
mod input_estimate;
mod joined_answers;
mod media;
mod model_call;
mod model_input;
mod nested_turn;
mod next;
mod omissions;
mod open;
mod output;
mod recent_messages;
mod recover;
mod request_context;
mod script_context;
mod shared_state;
mod tool_results;
mod tool_round;
mod tools;
mod trial;
mod turn_journal;
mod turn_parts;
mod usage;
mod uses_client;

pub(crate) use close::{CONCURRENT_TITLES, store_hits};
pub(crate) use input_estimate::estimate;
pub(crate) use open::open;
pub(crate) use recover::{RecoveryBackoff, recover_all};
pub use trial::{
    HookTrial, HookTrialError, HookTrialMessage, HookTrialRequest, ToolTrial, ToolTrialRequest,
};
pub(crate) use trial::{try_hook, try_tool};

use crate::error::{Error, Result};
use crate::journal::RoundPosition;
use crate::trace::TraceNode;
use crate::turn_info::TurnStopReason;
use agent_run::{AgentRun, AgentRunOutcome};
use conversation::Conversation;
use converse::Transcript;
use futures::FutureExt;
use futures::future::BoxFuture;
use next::TurnResponse;
use output::TurnOutput;
use request_context::RequestContext;
use std::panic::AssertUnwindSafe;
use tracing::Instrument;
use turn_journal::TurnJournal;

/// A request in flight: everything that belongs to it and to nobody else.
pub(crate) struct Turn {
    /// Who asked what, of which version of the app.
    context: RequestContext,
    /// What was said before, and what is to become history.
    conversation: Conversation,
    /// What has been done, and what is under way.
    journal: TurnJournal,
    /// What is shown and traced.
    output: TurnOutput,
}

/// Why the work of a turn is over.
enum TurnEnd {
    Answered(Box<TurnResponse>),
    Failed(Error),
    Stopped(TurnStopReason),
}

impl Turn {
    /// Runs until there is an answer, a failure or a reason to stop, and closes the turn. All that is logged meanwhile says of which
    /// request it is.
    pub fn run(mut self) -> BoxFuture<'static, ()> {
        let span = self.context.span();
        let run = async move {
            let end = loop {
                let must_end = self.must_end();
                // Where the turn must end its work is dropped at once; the outbox keeps what was said so far.
                let end = tokio::select! {
                    biased;
                    end = must_end => end,
                    answer = AssertUnwindSafe(self.run_agents()).catch_unwind() => {
                        let defect = |_| Err(Error::internal("a defect of Ambit ended this turn"));
                        TurnEnd::of(answer.unwrap_or_else(defect))
                    }
                };
                self.journal.tool_calls.stop();
                if !matches!(end, TurnEnd::Stopped(TurnStopReason::Restart)) {
                    break end;
                }
                if let Err(error) = self.restart().await {
                    break TurnEnd::Failed(error);
                }
            };
            // A turn that could not be closed has been logged, and is taken up again. Boxed: the future of a turn that waits is
            // smaller so.
            let _ = Box::pin(self.close(end)).await;
        };
        Box::pin(run.instrument(span))
    }

    /// Runs the agent that was asked, and each one that it hands over to, until one has answered. What an earlier attempt has
    /// done comes from the journal.
    fn run_agents<'a>(&'a mut self) -> BoxFuture<'a, Result<TurnResponse>> {
        Box::pin(async move {
            self.output.answers.tool_results.clear();
            let mut delegates = Vec::new();
            let answered = self.run_chain(&mut delegates).await;
            for node in delegates.iter().rev() {
                match &answered {
                    Ok(_) => node.complete(None),
                    Err(error) => node.fail(&error.message),
                }
            }
            answered
        })
    }

    /// The same; where those that were handed over to are traced is noted in the list.
    async fn run_chain(&mut self, delegates: &mut Vec<TraceNode>) -> Result<TurnResponse> {
        let mut run = AgentRun::first(self)?;
        loop {
            self.journal.position = RoundPosition::first(run.index);
            let outcome = match run.past_handover(self) {
                Some(delegate) => AgentRunOutcome::HandOver(Box::new(delegate)),
                None => self.run_agent(&run).await?,
            };
            run = match outcome {
                AgentRunOutcome::Done(response) => return self.restructure(*response).await,
                AgentRunOutcome::HandOver(delegate) => run.hand_over(self, *delegate).await?,
            };
            delegates.push(run.node.clone());
        }
    }

    /// Runs one agent: `Create`, its model with its tools, `Next`.
    async fn run_agent(&mut self, run: &AgentRun) -> Result<AgentRunOutcome> {
        if run.skip.history {
            // What was said before this agent is stored all the same.
            self.store_answers().await?;
        }
        let outcome = async {
            let created = run.create(self).await?;
            if let Some(delegate) = created.delegate.clone() {
                return Ok(AgentRunOutcome::HandOver(Box::new(delegate)));
            }
            let mut transcript = Transcript::default();
            let conversed = self.converse(run, created, &mut transcript).await;
            // `Next` may turn a failure around.
            self.next(run, transcript, conversed.err()).await
        };
        let outcome = outcome.await;
        if run.skip.history {
            self.output.omit_unstored();
        }
        outcome
    }
}

impl TurnEnd {
    fn of(result: Result<TurnResponse>) -> Self {
        match result {
            Ok(response) => Self::Answered(Box::new(response)),
            Err(error) => Self::Failed(error),
        }
    }
}
