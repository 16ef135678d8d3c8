//! A round of tool calls: they run at once, each result is durable as soon as it is there, and the model is told all of them
//! in the order in which it asked.

use super::Turn;
use super::agent_run::AgentRun;
use super::offered_tools::{self, OfferedTools};
use super::tool_arguments;
use super::tool_results::ToolCallRun;
use crate::error::{Error, ErrorCode, Result};
use crate::event::BeforeToolExecution;
use crate::llm::ModelAnswer;
use crate::llm::answer::ToolCall;
use crate::schema::{self, SchemaError};
use crate::tool::{ServerTool, ToolOutcome, call_in_time};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Calls of one round that run at once.
const AT_ONCE: usize = 8;
/// What stands for the result of a call that another one's failure has left without.
const GIVEN_UP: &str = "no result: the round ended when another of its calls failed";

/// One round.
pub(super) struct ToolRound<'a> {
    pub leg: &'a AgentRun,
    pub round: usize,
    pub answer: &'a ModelAnswer,
    pub offered: &'a OfferedTools,
}

impl ToolRound<'_> {
    /// Runs what has no result yet; the answer is what the model is told. Once something has failed for good no call begins
    /// any more, but those that have begun come to their end: they may have had their effects.
    pub async fn run(&self, turn: &mut Turn) -> Result<Vec<Value>> {
        let most = match self.leg.agent.mcp.parallel {
            true => AT_ONCE,
            false => 1,
        };
        let mut waiting: VecDeque<usize> = self.open(turn).collect();
        let mut failure = self.failure(turn);
        loop {
            while failure.is_none()
                && turn.running.count() < most
                && let Some(index) = waiting.pop_front()
            {
                failure = self.begin(turn, index).await.err();
            }
            let Some(ended) = turn.running.next().await else {
                break;
            };
            let settled = turn.settle_call(ended).await;
            failure = failure.or(settled.err()).or_else(|| self.failure(turn));
        }
        if let Some(failure) = failure {
            // What fails here as well has the same cause, or shows itself again with the turn's end.
            let _ = self.give_up(turn).await;
            self.told(turn);
            return Err(failure);
        }
        Ok(self.told(turn))
    }

    /// The calls that are run here and have no result yet.
    fn open(&self, turn: &Turn) -> impl Iterator<Item = usize> {
        let calls = self.answer.tool_calls.iter().enumerate();
        calls.filter_map(|(index, call)| {
            let is_open = turn.replay.settled(self.place(index)).is_none();
            (is_open && !self.offered.is_clients(call)).then_some(index)
        })
    }

    fn place(&self, index: usize) -> (usize, usize, usize) {
        (self.leg.index, self.round, index)
    }

    /// The failure of a call that fails the step, as the journal has it, unless an interrupt has gone on behind it.
    fn failure(&self, turn: &Turn) -> Option<Error> {
        let (leg, round) = (self.leg.index, self.round);
        match turn.replay.has_added(leg, round + 1) {
            true => None,
            false => turn.replay.failure(leg, round),
        }
    }

    /// Marks what will not be called any more, so that what comes behind the failure finds each call with a result.
    async fn give_up(&self, turn: &mut Turn) -> Result<()> {
        let open: Vec<usize> = self.open(turn).collect();
        for index in open {
            let call = &self.answer.tool_calls[index];
            let tool = self.offered.find(&call.name);
            turn.close_call(self.place(index), (call, tool), GIVEN_UP)
                .await?;
        }
        Ok(())
    }

    /// What the model is told, in the order of the calls.
    fn told(&self, turn: &mut Turn) -> Vec<Value> {
        let calls = self.answer.tool_calls.iter().enumerate();
        let speaker = turn.speaker(self.leg);
        let told = calls.filter_map(|(index, call)| {
            let settled = turn.replay.settled(self.place(index))?.clone();
            turn.show_settled(&speaker, call, &settled);
            turn.answers.tools.push(settled.result);
            Some(json!({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": settled.text}))
        });
        told.collect()
    }

    /// Asks the listeners, and begins the call.
    async fn begin(&self, turn: &mut Turn, index: usize) -> Result<()> {
        let call = &self.answer.tool_calls[index];
        let tool = self.offered.find(&call.name).cloned();
        let (arguments, refused) = self.arguments(turn, call, tool.as_ref()).await?;
        let node = turn.node(self.leg, "tool", &call.name, arguments.clone());
        let toolbox = turn.core.tools(&turn.loaded);
        let step = format!("tool {} {index}", self.round);
        let caller = offered_tools::caller(turn, self.leg, (&step, node.clone()))?;
        let call = ToolCallRun {
            place: self.place(index),
            call: call.clone(),
            server: tool.as_ref().map(|tool| tool.server.clone()),
            tool: tool.as_ref().map_or(&call.name, |tool| &tool.tool).clone(),
            arguments,
            is_error_fatal: self.leg.agent.mcp.is_error_fatal,
            skip: self.leg.call.skip,
            speaker: turn.speaker(self.leg),
            node,
        };
        turn.running.begin(async move {
            let arguments = call.arguments.clone();
            let outcome = match (refused, tool) {
                (Some(why), _) => Ok(ToolOutcome::failed(why)),
                (None, None) => Ok(ToolOutcome::failed(format!(
                    "there is no tool {}",
                    call.tool
                ))),
                (None, Some(tool)) => {
                    call_in_time(toolbox.as_ref(), &tool, arguments, &caller).await
                }
            };
            call.ended(outcome)
        });
        Ok(())
    }

    /// What the tool is called with, as listeners leave it, and why it is not called, if it is not.
    async fn arguments(
        &self,
        turn: &Turn,
        call: &ToolCall,
        tool: Option<&ServerTool>,
    ) -> Result<(Value, Option<String>)> {
        let mut arguments = match tool_arguments::read(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let why = format!("the arguments of {} are no JSON: {error}", call.name);
                return Ok((Value::Null, Some(why)));
            }
        };
        if let Some(tool) = tool {
            arguments = schema::fill_in(&tool.parameters, arguments);
            if let Some(why) = misfit(turn, tool, &arguments) {
                return Ok((arguments, Some(why)));
            }
        }
        if !turn.has_listener::<BeforeToolExecution>() {
            return Ok((arguments, None));
        }
        let event = BeforeToolExecution {
            about: turn.about(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            arguments: arguments.clone(),
        };
        match turn.ask(event).await {
            Ok(event) => Ok((event.arguments, None)),
            Err(error) if error.code == ErrorCode::Vetoed => Ok((arguments, Some(error.message))),
            Err(error) => Err(error),
        }
    }
}

/// Why a tool is not called with these arguments. One whose schema is unusable has to see for itself.
fn misfit(turn: &Turn, tool: &ServerTool, arguments: &Value) -> Option<String> {
    match schema::check(&tool.parameters, arguments) {
        Ok(()) => None,
        Err(SchemaError::Value(what)) => Some(format!(
            "the arguments of {} are not as its schema says: {what}",
            tool.name
        )),
        Err(SchemaError::Schema(what)) => {
            turn.warn(&format!(
                "the arguments of {} are not checked: {what}",
                tool.name
            ));
            None
        }
    }
}
