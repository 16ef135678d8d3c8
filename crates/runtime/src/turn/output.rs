//! What a turn shows: its stream, its trace, and what its models have said.

use super::answers::TurnAnswers;
use super::shared_state::SharedState;
use crate::frame::OutputMessage;
use crate::llm::{ModelAnswer, ModelCompletion, TokenUsage};
use crate::outbox::{MessageAuthor, Outbox};
use crate::stream::StreamWriter;
use crate::trace::{Trace, TraceNode};
use std::sync::Arc;

/// What is shown and traced of a turn.
pub(super) struct TurnOutput {
    pub outbox: Outbox,
    /// The log of the outbox.
    pub stream: StreamWriter,
    pub trace: Trace,
    pub trace_log: StreamWriter,
    /// The node above all that is done here: the root of the trace, or the node of a call.
    pub root: TraceNode,
    /// As whom agents speak, but for their ids; of a call where its messages are shown.
    pub author: MessageAuthor,
    /// What the client sees of the conversation's memory.
    pub shared_state: Option<Arc<SharedState>>,
    pub answers: TurnAnswers,
}

impl TurnOutput {
    /// Of a turn that has shown nothing yet.
    pub fn new(outbox: Outbox, trace: Trace, trace_log: StreamWriter) -> Self {
        Self {
            stream: outbox.log(),
            outbox,
            root: trace.root(),
            trace,
            trace_log,
            author: MessageAuthor::default(),
            shared_state: None,
            answers: TurnAnswers::default(),
        }
    }

    /// Says in the trace that something is not as it should be.
    pub fn warn(&self, text: &str) {
        self.root.warn(text);
    }

    /// `payload.completion`: the last answer, with the tokens of the whole turn and the message in which it was shown.
    pub fn completion(&self, answer: &ModelAnswer, usage: &TokenUsage) -> ModelCompletion {
        let is_text = |id: &&String| self.is_shown_as(id, "text");
        let shown = self.answers.unstored.last();
        let shown = shown.and_then(|record| record.shown.iter().rev().find(is_text));
        answer.completion(usage, shown.map(String::as_str))
    }

    /// Whether the message with this id is of a kind.
    pub fn is_shown_as(&self, id: &str, kind: &str) -> bool {
        let message: Option<OutputMessage> = self.outbox.message(id);
        message.is_some_and(|message| message.kind == kind)
    }
}
