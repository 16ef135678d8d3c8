//! A round of tool calls: they run at once, each result is durable as soon as it is there, and the model is told all of them
//! in the order in which it asked.

use super::Turn;
use super::agent_run::AgentRun;
use super::tool_results::{ToolCallEnd, ToolCallRun};
use super::tools::OfferedTools;
use crate::app::ToolErrorPolicy;
use crate::call_metrics::ToolCallMeter;
use crate::chat::{BlockKind, BlockSource, ChatMessage, MessageOrigin, ToolCall};
use crate::error::{Error, Result};
use crate::journal::{JournalStep, RoundPosition};
use crate::llm::ModelAnswer;
use crate::outbox::AgentOutbox;
use crate::tool::{ProgressListener, ProgressReader, ServerTool, ToolOutcome, call_in_time};
use crate::trace::{NodeOptions, StepFacts, ToolFacts};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::unconstrained;
use tokio::time::sleep;

/// Calls of one round that run at once.
const MAX_CONCURRENT: usize = 8;
/// From one report of a call's progress to the next.
const PROGRESS_PACE: Duration = Duration::from_millis(250);
/// What stands for the result of a call that another one's failure has left without.
const GIVEN_UP: &str = "no result: the round ended when another of its calls failed";

pub(super) struct ToolRound<'a> {
    pub run: &'a AgentRun,
    pub position: RoundPosition,
    pub answer: &'a ModelAnswer,
    pub offered: &'a OfferedTools,
}

impl ToolRound<'_> {
    /// Makes the answer durable, runs what has no result yet, and adds what the model is told to its messages. Once something
    /// has failed for good no call begins any more, but those that have begun come to their end: they may have had their
    /// effects.
    pub async fn run(&self, turn: &mut Turn, messages: &mut Vec<ChatMessage>) -> Result<()> {
        messages.push(turn.output.answers.message(self.answer));
        self.record_answer(turn).await?;
        let most = match self.run.agent.package.mcp.options.parallel {
            true => MAX_CONCURRENT,
            false => 1,
        };
        let mut waiting: VecDeque<usize> = self.open(turn).collect();
        let mut failure = self.failure(turn);
        loop {
            while failure.is_none()
                && turn.journal.tool_calls.count() < most
                && let Some(index) = waiting.pop_front()
            {
                failure = self.begin(turn, index).await.err();
            }
            let Some(ended) = turn.journal.tool_calls.next().await else {
                break;
            };
            let settled = turn.settle_call(ended).await;
            failure = failure.or(settled.err()).or_else(|| self.failure(turn));
        }
        if let Some(failure) = failure {
            // What fails here as well has the same cause, or shows itself again with the turn's end.
            let _ = self.give_up(turn).await;
            self.results(turn);
            return Err(failure);
        }
        messages.extend(self.results(turn));
        Ok(())
    }

    /// Makes the answer durable before anything is done for it.
    async fn record_answer(&self, turn: &mut Turn) -> Result<()> {
        if turn.journal.replay.answered(self.position).is_some() {
            return Ok(());
        }
        turn.store_answers_of(self.run.index).await?;
        let step = JournalStep::Answered {
            run: self.position.run,
            round: self.position.round,
            answer: Box::new(self.answer.clone()),
            unstored: None,
        };
        turn.record(step).await?;
        turn.context.reach_fault_point("turn.answered");
        Ok(())
    }

    /// The calls that are run here and have no result yet.
    fn open(&self, turn: &Turn) -> impl Iterator<Item = usize> {
        let calls = self.answer.tool_calls.iter().enumerate();
        calls.filter_map(|(index, call)| {
            let position = self.position.call(index);
            let is_open = turn.journal.replay.settled(position).is_none();
            (is_open && !self.offered.is_clients(call)).then_some(index)
        })
    }

    /// The failure of a call that fails the step, as the journal has it, unless an interrupt has gone on behind it.
    fn failure(&self, turn: &Turn) -> Option<Error> {
        let replay = &turn.journal.replay;
        match replay.has_added(self.position.next()) {
            true => None,
            false => replay.failure(self.position),
        }
    }

    /// Marks what is not called any more, so that what comes behind the failure finds each call with a result.
    async fn give_up(&self, turn: &mut Turn) -> Result<()> {
        let open: Vec<usize> = self.open(turn).collect();
        for index in open {
            let call = &self.answer.tool_calls[index];
            let tool = self.offered.find(&call.name);
            let closed = turn.close_call(self.position.call(index), call, tool, GIVEN_UP);
            closed.await?;
        }
        Ok(())
    }

    /// What the model is told, in the order of the calls. It is shown too, where it is not.
    fn results(&self, turn: &mut Turn) -> Vec<ChatMessage> {
        let calls = self.answer.tool_calls.iter().enumerate();
        let outbox = turn.agent_outbox(self.run);
        let results = calls.filter_map(|(index, call)| {
            let settled = turn.journal.replay.settled(self.position.call(index))?;
            turn.output.show_settled(&outbox, call, settled);
            turn.output
                .answers
                .tool_results
                .push(settled.result.clone());
            let mut result = ChatMessage {
                name: Some(call.name.clone()),
                ..ChatMessage::result(&call.id, settled.text.as_str())
            };
            let source = BlockSource {
                tool_call_id: Some(call.id.clone()),
                server: settled.result.server.clone(),
                tool: Some(settled.result.tool.clone()),
                ..BlockSource::default()
            };
            result.origin = MessageOrigin::new(BlockKind::ToolResult, source);
            result.origin.cut_result(settled.cut);
            Some(result)
        });
        results.collect()
    }

    /// Asks the listeners, and begins the call.
    async fn begin(&self, turn: &mut Turn, index: usize) -> Result<()> {
        let call = &self.answer.tool_calls[index];
        let tool = self.offered.find(&call.name).cloned();
        let arguments = turn.tool_arguments(call, tool.as_ref()).await?;
        let facts = self.facts(turn, call, tool.as_ref());
        let node = NodeOptions::new("tool", call.name.as_str());
        let node = node.with_input(arguments.value.clone());
        let node = node.with_metadata(json!({
            "server": facts.server, "tool": facts.tool, "tool_call_id": facts.call_id, "round": self.position.round,
        }));
        let node = node.with_facts(StepFacts::Tool(facts.clone()));
        let node = turn.agent_node(self.run).add(node);
        let toolbox = turn.context.core.tools(&turn.context.loaded);
        let step = format!("tool {} {index}", self.position.round);
        let message = turn.output.answers.call_message(&call.id);
        let message = message.map(str::to_owned);
        let mut caller = turn.caller_of_call(self.run, &step, node.clone(), message.as_deref())?;
        let (listener, progress) = ProgressListener::channel();
        caller.progress = Some(listener);
        let call = ToolCallRun {
            position: self.position.call(index),
            call: call.clone(),
            server: tool.as_ref().map(|tool| tool.server.clone()),
            tool: tool.as_ref().map_or(&call.name, |tool| &tool.tool).clone(),
            arguments: arguments.value,
            is_error_fatal: self.run.agent.package.mcp.options.tool_error == ToolErrorPolicy::Fail,
            skip: self.run.skip,
            outbox: turn.agent_outbox(self.run),
            node,
            facts,
        };
        let metrics = turn.context.core.metrics().clone();
        turn.journal.tool_calls.begin(async move {
            let meter = ToolCallMeter::begin(&metrics, call.server.as_deref(), &call.tool);
            let outcome = match (arguments.refusal, tool) {
                (Some(refusal), _) => Ok(ToolOutcome::failed(refusal.message)),
                (None, None) => Ok(ToolOutcome::failed(format!(
                    "there is no tool {}",
                    call.tool
                ))),
                (None, Some(tool)) => {
                    let arguments = call.arguments.clone();
                    let called = call_in_time(toolbox.as_ref(), &tool, arguments, &caller);
                    let shown = show_progress(&call.outbox, message, progress);
                    beside(called, shown).await
                }
            };
            let ended = call.end(outcome);
            meter.end(ended.is_error());
            ended
        });
        Ok(())
    }

    /// What the trace tells of a call. A name that no tool has is the model's, and is not told.
    fn facts(&self, turn: &Turn, call: &ToolCall, tool: Option<&ServerTool>) -> ToolFacts {
        let servers = &turn.context.loaded.mcp;
        let is_external = |tool: &ServerTool| servers.is_external(&self.run.agent.id, &tool.server);
        ToolFacts {
            tool: tool.map(|tool| tool.tool.clone()).unwrap_or_default(),
            call_id: call.id.clone(),
            server: tool.map(|tool| tool.server.clone()),
            is_external: tool.is_some_and(is_external),
            error_code: None,
        }
    }
}

/// Works until the first has ended; the second never does.
async fn beside<T>(work: impl Future<Output = T>, other: impl Future<Output = Infallible>) -> T {
    tokio::select! {
        biased;
        done = work => done,
        never = other => match never {},
    }
}

/// Shows how far a call has come, where the call is shown. More often than four times a second nobody is told, of the last
/// report always.
async fn show_progress(
    outbox: &AgentOutbox,
    message: Option<String>,
    mut progress: ProgressReader,
) -> Infallible {
    while let (Some(message), Some(told)) = (&message, progress.next().await) {
        if let Err(error) = outbox.put(message, "progress", json!(told)) {
            tracing::debug!(%error, "the progress of a tool call is not shown");
        }
        sleep(PROGRESS_PACE).await;
    }
    pending().await
}

/// The tool calls that are under way, and those that have ended and are not in the journal. They belong to the turn and not to
/// its work, which is dropped where the turn is broken off: a call that has ended by then has had its effects, and what came of
/// it is not forgotten.
#[derive(Default)]
pub(super) struct RunningToolCalls {
    /// The lock makes the turn `Sync`; nobody ever waits for it.
    calls: Mutex<FuturesUnordered<BoxFuture<'static, ToolCallEnd>>>,
    /// The turn is broken off.
    is_over: Arc<AtomicBool>,
    /// What is being settled. Listeners may have been told of it.
    pub settling: Option<Arc<ToolCallEnd>>,
    /// What had ended when the turn was broken off.
    pub ended: Vec<ToolCallEnd>,
}

impl RunningToolCalls {
    /// How many have not ended.
    pub fn count(&mut self) -> usize {
        self.calls.get_mut().len()
    }

    /// One more, which is worked on by `next`.
    pub fn begin(&mut self, call: impl Future<Output = ToolCallEnd> + Send + 'static) {
        let is_over = self.is_over.clone();
        let call = async move {
            if is_over.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            call.await
        };
        self.calls.get_mut().push(call.boxed());
    }

    /// Waits until one has ended; `None` where there is none.
    pub async fn next(&mut self) -> Option<ToolCallEnd> {
        self.calls.get_mut().next().await
    }

    /// Breaks off what is under way. What has ended unseen is kept; what has not begun does not begin.
    pub fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(Some(ended)) = unconstrained(self.next()).now_or_never() {
            self.ended.push(ended);
        }
        *self = Self {
            settling: self.settling.take(),
            ended: std::mem::take(&mut self.ended),
            ..Self::default()
        };
    }
}
