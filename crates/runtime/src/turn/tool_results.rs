//! What becomes of the results of tool calls: they are journalled and stored, and shown where the call was.

use super::Turn;
use crate::error::{ErrorCode, Result};
use crate::event::AfterToolExecution;
use crate::frame::OutputMessage;
use crate::journal::{JournalStep, SettledToolCall};
use crate::llm::answer::ToolCall;
use crate::outbox::AgentOutbox;
use crate::request::SkipOptions;
use crate::tool::{ServerTool, ToolOutcome};
use crate::trace::TraceNode;
use ambit_storage::storage::Message;
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes of a result that are kept, well below what a store takes in one entry.
const LARGEST: usize = 8 << 20;

/// A tool call as it is made.
pub(super) struct ToolCallRun {
    /// The place of the agent, the round, and which call of the answer.
    pub place: (usize, usize, usize),
    pub call: ToolCall,
    /// The server, if there is such a tool.
    pub server: Option<String>,
    /// What the server calls the tool.
    pub tool: String,
    pub arguments: Value,
    /// A failure of the server fails the step.
    pub is_error_fatal: bool,
    pub skip: SkipOptions,
    /// Who shows the result.
    pub speaker: AgentOutbox,
    /// Where it is traced.
    pub node: TraceNode,
}

/// A call that has ended.
pub(super) struct ToolCallEnd {
    pub call: ToolCallRun,
    outcome: ToolOutcome,
    /// The failure of the server that fails the step.
    fatal: Option<ErrorCode>,
}

impl ToolCallRun {
    /// Its end; `Err` is a failure of the server.
    pub fn ended(self, outcome: Result<ToolOutcome>) -> ToolCallEnd {
        let (outcome, fatal) = match outcome {
            Ok(outcome) => (kept(&self.call.name, outcome), None),
            Err(error) => {
                let fatal = self.is_error_fatal.then_some(error.code);
                (ToolOutcome::failed(error.message), fatal)
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
            call: self,
            outcome,
            fatal,
        }
    }
}

impl ToolCallEnd {
    fn error(&self) -> Option<String> {
        let text = self.outcome.text.clone();
        self.outcome.is_error.then_some(text)
    }

    pub fn step(&self) -> JournalStep {
        let Self { call, outcome, .. } = self;
        let (leg, round, index) = call.place;
        let result = match outcome.is_error {
            true => &Value::Null,
            false => &outcome.data,
        };
        JournalStep::Settled(SettledToolCall {
            leg,
            round,
            index,
            result: json!({"toolcall_id": call.call.id, "server": call.server, "tool": call.tool,
                "arguments": call.arguments, "result": result, "error": self.error(), "round": round}),
            text: outcome.text.clone(),
            fatal: self.fatal.as_ref().map(ErrorCode::to_string),
        })
    }
}

/// The outcome, or a failure in its place where it is too large to be kept: what is not kept would be done again.
fn kept(tool: &str, outcome: ToolOutcome) -> ToolOutcome {
    let size = outcome.data.to_string().len() + outcome.text.len();
    if size <= LARGEST {
        return outcome;
    }
    ToolOutcome::failed(format!(
        "{tool} has run, but its result of {size} bytes is larger than the {LARGEST} that are kept; do not call it again, ask for less"
    ))
}

impl Turn {
    /// Tells listeners of a call's end, makes the result durable, and shows it. The work that does so may be dropped on the
    /// way; what has ended stays with the turn until it is done.
    pub(super) async fn settle_call(&mut self, ended: ToolCallEnd) -> Result<()> {
        let ended = Arc::new(ended);
        self.running.settling = Some(ended.clone());
        let settled = self.settle_held(&ended).await;
        self.running.settling = None;
        settled
    }

    async fn settle_held(&mut self, ended: &ToolCallEnd) -> Result<()> {
        self.reach_fault_point("turn.tool_done");
        self.announce_end(ended).await;
        self.note_end(ended).await?;
        self.persist().await?;
        self.reach_fault_point("turn.settled");
        self.show_end(ended);
        Ok(())
    }

    /// Notes what had ended when the turn was broken off; it becomes durable with the next step. True where there was any.
    pub(super) async fn settle_broken_off(&mut self) -> bool {
        let settling = self.running.settling.take();
        let untold = std::mem::take(&mut self.running.ended);
        let has_any = settling.is_some() || !untold.is_empty();
        for ended in &untold {
            self.announce_end(ended).await;
        }
        for ended in settling.as_deref().into_iter().chain(&untold) {
            match self.note_end(ended).await {
                Ok(()) => self.show_end(ended),
                Err(error) => self.warn(&format!(
                    "the result of {} is not kept: {}",
                    ended.call.call.name, error.message
                )),
            }
        }
        has_any
    }

    async fn announce_end(&self, ended: &ToolCallEnd) {
        let ToolCallEnd { call, outcome, .. } = ended;
        self.announce(AfterToolExecution {
            about: self.about(),
            tool: call.call.name.clone(),
            call_id: call.call.id.clone(),
            arguments: call.arguments.clone(),
            result: (!outcome.is_error).then(|| outcome.data.clone()),
            error: ended.error(),
        })
        .await;
    }

    /// Stages a result for the history together with its step, with nothing to wait for between the two.
    async fn note_end(&mut self, ended: &ToolCallEnd) -> Result<()> {
        let ToolCallEnd { call, outcome, .. } = ended;
        if self.replay.settled(call.place).is_some() {
            return Ok(());
        }
        self.store_result(call.skip, &call.call, outcome).await?;
        self.note(ended.step())
    }

    pub(super) fn show_end(&self, ended: &ToolCallEnd) {
        let ToolCallEnd { call, outcome, .. } = ended;
        self.show_result(&call.speaker, &call.call, outcome);
    }

    async fn store_result(
        &self,
        skip: SkipOptions,
        call: &ToolCall,
        outcome: &ToolOutcome,
    ) -> Result<()> {
        if self.request.skip.history || skip.history {
            return Ok(());
        }
        let mut message = Message::result(call.id.clone(), outcome.text.clone());
        message.turn_id = Some(self.ids.request_id.clone());
        if let Some(result) = &mut message.tool_result {
            result.name = Some(call.name.clone());
            result.is_error = outcome.is_error;
        }
        self.session.history().add_message(message).await?;
        Ok(())
    }

    /// Gives each call that nobody will answer any more a result that says why, so that the history goes on being one that
    /// every provider accepts. What has ended has its own.
    pub(super) async fn close_calls(&mut self, why: &str) -> Result<()> {
        self.settle_broken_off().await;
        let answers: Vec<_> = self
            .replay
            .answers()
            .map(|(leg, round, answer)| (leg, round, answer.tool_calls.clone()))
            .collect();
        for (leg, round, calls) in answers {
            for (index, call) in calls.iter().enumerate() {
                if self.replay.settled((leg, round, index)).is_none() {
                    self.close_call((leg, round, index), (call, None), why)
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// The same for one call, of this tool if that is known.
    pub(super) async fn close_call(
        &mut self,
        (leg, round, index): (usize, usize, usize),
        (call, tool): (&ToolCall, Option<&ServerTool>),
        why: &str,
    ) -> Result<()> {
        let outcome = ToolOutcome::failed(why.to_owned());
        self.store_result(self.skip_of(leg), call, &outcome).await?;
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        self.note(JournalStep::Settled(SettledToolCall {
            leg,
            round,
            index,
            result: json!({"toolcall_id": call.id, "server": tool.map(|tool| &tool.server),
                "tool": tool.map_or(&call.name, |tool| &tool.tool), "arguments": arguments,
                "result": null, "error": why, "round": round}),
            text: why.to_owned(),
            fatal: None,
        }))?;
        self.show_result(&self.outbox.for_author(Default::default()), call, &outcome);
        Ok(())
    }

    /// What the agent at this place of the chain leaves out, as far as the journal says: what those before it do, but for what
    /// it was told otherwise.
    pub(super) fn skip_of(&self, leg: usize) -> SkipOptions {
        let delegates = (1..=leg).filter_map(|to| self.replay.delegated(to));
        let said = delegates.filter_map(|delegate| delegate.options.get("skip"));
        said.fold(self.request.skip, |skip, said| skip.with(said))
    }

    /// Shows what the journal has of a call: whoever noted it may have come no further.
    pub(super) fn show_settled(
        &self,
        speaker: &AgentOutbox,
        call: &ToolCall,
        settled: &SettledToolCall,
    ) {
        let outcome = ToolOutcome {
            data: settled.result["result"].clone(),
            text: settled.text.clone(),
            is_error: !settled.result["error"].is_null(),
            ..ToolOutcome::default()
        };
        self.show_result(speaker, call, &outcome);
    }

    /// Amends the call's message with what came of it, once.
    fn show_result(&self, speaker: &AgentOutbox, call: &ToolCall, outcome: &ToolOutcome) {
        let mut shown = self.answers.calls_shown.iter().rev();
        let Some((_, message)) = shown.find(|(id, _)| *id == call.id) else {
            return;
        };
        let is_told = |shown: OutputMessage| {
            let status = shown.props.get("status").and_then(Value::as_str);
            matches!(status, Some("completed" | "error"))
        };
        if self.outbox.message(message).is_none_or(is_told) {
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
        if let Err(error) = speaker.update(message, props.into_iter().collect()) {
            self.warn(&format!(
                "the result of {} is not shown: {error}",
                call.name
            ));
        }
    }
}
