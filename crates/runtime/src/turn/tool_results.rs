//! What becomes of the results of tool calls: they are journalled and stored, and shown where the call was.

use super::Turn;
use super::output::TurnOutput;
use crate::call_metrics;
use crate::chat::ToolCall;
use crate::chat_message::CUT;
use crate::error::{ErrorCode, Result, ServerFailure};
use crate::event::AfterToolExecution;
use crate::frame::OutputMessage;
use crate::journal::{CallPosition, JournalStep, RoundPosition, SettledToolCall, ToolCallReport};
use crate::outbox::AgentOutbox;
use crate::request::SkipOptions;
use crate::tool::{ServerTool, ToolOutcome};
use crate::trace::{StepFacts, ToolFacts, TraceNode};
use crate::value_text::value_text;
use ambit_storage::storage::Message;
use serde_json::Value;
use std::sync::Arc;

/// Bytes of a result that are kept, well below what a store takes in one entry.
const MAX_RESULT: usize = 8 << 20;

/// The code of what a tool itself says went wrong.
const TOOL_ERROR: &str = "tool_error";

/// A tool call as it is made.
pub(super) struct ToolCallRun {
    pub position: CallPosition,
    pub call: ToolCall,
    /// The server, if there is such a tool.
    pub server: Option<String>,
    /// What the server calls the tool.
    pub tool: String,
    pub arguments: Value,
    /// A failure of the server fails the step.
    pub is_error_fatal: bool,
    pub skip: SkipOptions,
    /// Where the result is shown.
    pub outbox: AgentOutbox,
    /// Where the call is traced.
    pub node: TraceNode,
    /// What its trace tells of it.
    pub facts: ToolFacts,
}

/// A call that has ended.
pub(super) struct ToolCallEnd {
    pub run: ToolCallRun,
    outcome: ToolOutcome,
    /// The failure of the server that fails the step.
    fatal: Option<ErrorCode>,
}

/// The tool of a call, as its server calls it.
#[derive(Clone, Copy)]
struct CalledTool<'a> {
    server: &'a str,
    tool: &'a str,
}

impl<'a> CalledTool<'a> {
    /// `None` where no server has such a tool.
    fn of(server: Option<&'a String>, tool: &'a str) -> Option<Self> {
        server.map(|server| Self { server, tool })
    }

    /// The properties of a call's message and of its stored result.
    fn properties(self) -> [(String, Value); 2] {
        [("server", self.server), ("tool", self.tool)]
            .map(|(name, value)| (name.to_owned(), value.into()))
    }
}

impl ToolCallRun {
    /// The tool, if there is such a one.
    fn called(&self) -> Option<CalledTool<'_>> {
        CalledTool::of(self.server.as_ref(), &self.tool)
    }

    /// Ends the call with what came of it; `Err` is a failure of the server.
    pub fn end(self, outcome: Result<ToolOutcome>) -> ToolCallEnd {
        let failure = match &outcome {
            Ok(outcome) => outcome.is_error.then_some(TOOL_ERROR),
            Err(error) => Some(call_metrics::label(&error.code)),
        };
        if let Some(code) = failure {
            self.node.set_facts(StepFacts::Tool(ToolFacts {
                error_code: Some(code.to_owned()),
                ..self.facts.clone()
            }));
        }
        let (outcome, fatal) = match outcome {
            Ok(outcome) => (bounded(&self.call.name, outcome), None),
            Err(error) => {
                let failed = ToolOutcome {
                    server_failure: error.server_failure,
                    ..ToolOutcome::failed(error.message)
                };
                (failed, self.is_error_fatal.then_some(error.code))
            }
        };
        for warning in &outcome.warnings {
            self.node.warn(warning);
        }
        match outcome.is_error {
            true => self.node.fail(&outcome.text),
            false => self.node.complete(Some(outcome.data.clone())),
        }
        ToolCallEnd {
            run: self,
            outcome,
            fatal,
        }
    }
}

impl ToolCallEnd {
    /// The name by which the model has called the tool.
    pub fn name(&self) -> &str {
        &self.run.call.name
    }

    pub fn is_error(&self) -> bool {
        self.outcome.is_error
    }

    fn error(&self) -> Option<String> {
        let text = self.outcome.text.clone();
        self.outcome.is_error.then_some(text)
    }

    pub fn step(&self) -> JournalStep {
        self.step_with_text(self.outcome.text.clone())
    }

    /// The step where this is what the model is told.
    fn step_with_text(&self, text: String) -> JournalStep {
        let Self { run, outcome, .. } = self;
        let RoundPosition { run: index, round } = run.position.round;
        let result = match outcome.is_error {
            true => Value::Null,
            false => outcome.data.clone(),
        };
        JournalStep::Settled(Box::new(SettledToolCall {
            run: index,
            round,
            index: run.position.index,
            result: ToolCallReport {
                toolcall_id: run.call.id.clone(),
                server: run.server.clone(),
                tool: run.tool.clone(),
                arguments: run.arguments.clone(),
                result,
                error: self.error(),
                round,
            },
            text,
            cut: outcome.cut,
            server_failure: outcome.server_failure,
            fatal: self.fatal.as_ref().map(ErrorCode::to_string),
        }))
    }
}

/// The outcome, or a failure in its place where it is too large to be kept: what is not kept would be done again.
fn bounded(tool: &str, outcome: ToolOutcome) -> ToolOutcome {
    let size = outcome.data.to_string().len() + outcome.text.len();
    if size <= MAX_RESULT {
        return outcome;
    }
    ToolOutcome::failed(format!(
        "{tool} has run, but its result of {size} bytes is larger than the {MAX_RESULT} that are kept; do not call it again, ask for less"
    ))
}

impl Turn {
    /// Tells listeners of a call's end, makes the result durable, and shows it. The work that does so may be dropped on the
    /// way; what has ended stays with the turn until it is done.
    pub(super) async fn settle_call(&mut self, ended: ToolCallEnd) -> Result<()> {
        let ended = Arc::new(ended);
        self.journal.tool_calls.settling = Some(ended.clone());
        let settled = self.settle_shared(&ended).await;
        self.journal.tool_calls.settling = None;
        settled
    }

    async fn settle_shared(&mut self, ended: &ToolCallEnd) -> Result<()> {
        self.context.reach_fault_point("turn.tool_done");
        self.announce_call_end(ended).await;
        self.note_call_end(ended).await?;
        self.persist().await?;
        self.context.reach_fault_point("turn.settled");
        self.output.show_call_end(ended);
        Ok(())
    }

    /// Notes what had ended when the turn was broken off; it becomes durable with the next step. True where there was any.
    pub(super) async fn settle_interrupted_calls(&mut self) -> bool {
        let settling = self.journal.tool_calls.settling.take();
        let unannounced = std::mem::take(&mut self.journal.tool_calls.ended);
        let has_any = settling.is_some() || !unannounced.is_empty();
        for ended in &unannounced {
            self.announce_call_end(ended).await;
        }
        for ended in settling.as_deref().into_iter().chain(&unannounced) {
            match self.note_call_end(ended).await {
                Ok(()) => self.output.show_call_end(ended),
                Err(error) => self.output.warn(&format!(
                    "the result of {} is not kept: {}",
                    ended.name(),
                    error.message
                )),
            }
        }
        has_any
    }

    async fn announce_call_end(&self, ended: &ToolCallEnd) {
        let ToolCallEnd { run, outcome, .. } = ended;
        let event = AfterToolExecution {
            about: self.context.about(),
            tool: run.call.name.clone(),
            call_id: run.call.id.clone(),
            arguments: run.arguments.clone(),
            result: (!outcome.is_error).then(|| outcome.data.clone()),
            error: ended.error(),
        };
        self.context.announce(event).await;
    }

    /// Stages a result for the history together with its step, with nothing to wait for between the two.
    async fn note_call_end(&mut self, ended: &ToolCallEnd) -> Result<()> {
        let ToolCallEnd { run, outcome, .. } = ended;
        if self.journal.replay.settled(run.position).is_some() {
            return Ok(());
        }
        let told = self.store_result(run.skip, &run.call, run.called(), outcome);
        let text = told.await?;
        self.journal.note(ended.step_with_text(text))
    }

    /// Stages a result for the history. Returns what the model is told, which listeners may have changed.
    async fn store_result(
        &self,
        skip: SkipOptions,
        call: &ToolCall,
        called: Option<CalledTool<'_>>,
        outcome: &ToolOutcome,
    ) -> Result<String> {
        if skip.history {
            return Ok(outcome.text.clone());
        }
        let mut message = Message::result(call.id.clone(), outcome.text.clone());
        message.turn_id = Some(self.context.ids.request_id.clone());
        if let Some(result) = &mut message.tool_result {
            result.name = Some(call.name.clone());
            result.is_error = outcome.is_error;
            let called = called.map(CalledTool::properties);
            result.extras.extend(called.into_iter().flatten());
            let failure = outcome.server_failure.map(ServerFailure::property);
            result.extras.extend(failure);
            if outcome.cut > 0 {
                result.extras.insert(CUT.to_owned(), outcome.cut.into());
            }
        }
        let stored = self.conversation.append(message).await?;
        Ok(match &stored.tool_result {
            Some(result) => value_text(&result.content),
            None => stored.text(),
        })
    }

    /// Gives each call that nobody answers any more a result that says why, so that the history goes on being one that every
    /// provider accepts. What has ended has its own.
    pub(super) async fn close_calls(&mut self, why: &str) -> Result<()> {
        self.settle_interrupted_calls().await;
        let mut calls = Vec::new();
        for (position, answer) in self.journal.replay.answers() {
            for (index, call) in answer.tool_calls.iter().enumerate() {
                calls.push((position.call(index), call.clone()));
            }
        }
        for (position, call) in calls {
            if self.journal.replay.settled(position).is_none() {
                self.close_call(position, &call, None, why).await?;
            }
        }
        Ok(())
    }

    /// The same for one call, of this tool if that is known.
    pub(super) async fn close_call(
        &mut self,
        position: CallPosition,
        call: &ToolCall,
        tool: Option<&ServerTool>,
        why: &str,
    ) -> Result<()> {
        let outcome = ToolOutcome::failed(why.to_owned());
        let RoundPosition { run, round } = position.round;
        let called = tool.and_then(|found| CalledTool::of(Some(&found.server), &found.tool));
        let told = self.store_result(self.skip_options(run), call, called, &outcome);
        let text = told.await?;
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        self.journal
            .note(JournalStep::Settled(Box::new(SettledToolCall {
                run,
                round,
                index: position.index,
                result: ToolCallReport {
                    toolcall_id: call.id.clone(),
                    server: tool.map(|tool| tool.server.clone()),
                    tool: tool.map_or(&call.name, |tool| &tool.tool).clone(),
                    arguments,
                    result: Value::Null,
                    error: Some(why.to_owned()),
                    round,
                },
                text,
                cut: 0,
                server_failure: None,
                fatal: None,
            })))?;
        let outbox = self.output.outbox.for_author(Default::default());
        self.output.show_result(&outbox, call, called, &outcome);
        Ok(())
    }
}

impl TurnOutput {
    pub fn show_call_end(&self, ended: &ToolCallEnd) {
        let ToolCallEnd { run, outcome, .. } = ended;
        self.show_result(&run.outbox, &run.call, run.called(), outcome);
    }

    /// Shows what the journal has of a call: whoever noted it may have come no further.
    pub fn show_settled(&self, outbox: &AgentOutbox, call: &ToolCall, settled: &SettledToolCall) {
        let outcome = ToolOutcome {
            data: settled.result.result.clone(),
            text: settled.text.clone(),
            is_error: settled.result.error.is_some(),
            server_failure: settled.server_failure,
            ..ToolOutcome::default()
        };
        let result = &settled.result;
        let called = CalledTool::of(result.server.as_ref(), &result.tool);
        self.show_result(outbox, call, called, &outcome);
    }

    /// Amends the call's message with what came of it, once.
    fn show_result(
        &self,
        outbox: &AgentOutbox,
        call: &ToolCall,
        called: Option<CalledTool<'_>>,
        outcome: &ToolOutcome,
    ) {
        let Some(message) = self.answers.call_message(&call.id) else {
            return;
        };
        let has_result = |shown: OutputMessage| {
            let status = shown.props.get("status").and_then(Value::as_str);
            matches!(status, Some("completed" | "error"))
        };
        if self.outbox.message(message).is_none_or(has_result) {
            return;
        }
        let (status, name, value) = match outcome.is_error {
            true => ("error", "error", outcome.text.clone().into()),
            false => ("completed", "result", outcome.data.clone()),
        };
        let props = [
            ("status".to_owned(), status.into()),
            (name.to_owned(), value),
        ];
        let failure = outcome.server_failure.map(ServerFailure::property);
        let called = called.map(CalledTool::properties);
        let props = called.into_iter().flatten().chain(props).chain(failure);
        if let Err(error) = outbox.update(message, props.collect()) {
            self.warn(&format!(
                "the result of {} is not shown: {error}",
                call.name
            ));
        }
    }
}
