//! The answer in a log, piece by piece as it can be shown.

use super::answer_state::{AnswerDelta, AnswerState, TurnEnding};
use super::client_tool_calls::ToolCallDelta;
use super::message_text::AnswerField;
use super::text_queue::{TextPiece, TextQueue};
use crate::format::FormatOptions;
use ambit_runtime::Frame;
use ambit_runtime::frame::TurnEvent;

/// Reads the frames of a turn.
pub struct AnswerReader {
    /// What was read so far.
    pub state: AnswerState,
    content: TextQueue,
    reasoning: TextQueue,
    /// A message of type `error` that may turn out to be the turn's own failure, which is told otherwise.
    failure: Option<String>,
}

/// A piece of the answer.
pub enum AnswerPart {
    Start,
    Text(AnswerField, String),
    /// An item of `delta.tool_calls`.
    ToolCall(ToolCallDelta),
    End(Box<TurnEnding>),
}

impl AnswerReader {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            state: AnswerState::new(options),
            content: TextQueue::default(),
            reasoning: TextQueue::default(),
            failure: None,
        }
    }

    /// Takes a frame in and returns what can be shown now.
    pub fn read(&mut self, frame: &Frame) -> Vec<AnswerPart> {
        match TurnEvent::read(frame) {
            Some(event) => self.event(&event),
            None => self.message(frame),
        }
    }

    fn event(&mut self, event: &TurnEvent<'_>) -> Vec<AnswerPart> {
        self.state.event(event);
        match event {
            TurnEvent::StreamStart(_) => vec![AnswerPart::Start],
            TurnEvent::MessageEnd { message_id, .. } => {
                self.content.close(message_id);
                self.reasoning.close(message_id);
                self.ready(None)
            }
            TurnEvent::StreamEnd(_) => self.last(),
            _ => Vec::new(),
        }
    }

    fn message(&mut self, frame: &Frame) -> Vec<AnswerPart> {
        let change = self.state.frame(frame);
        let Some(id) = &frame.message_id else {
            return Vec::new();
        };
        if self.failure.as_ref() != Some(id) {
            self.failure = (frame.kind == "error").then(|| id.clone());
            self.content.hold(self.failure.as_deref());
        }
        self.push(id, &change);
        self.ready(change.call)
    }

    fn push(&mut self, id: &str, change: &AnswerDelta) {
        let Some(text) = &change.text else {
            return;
        };
        let channel = match text.place {
            AnswerField::Content => &mut self.content,
            AnswerField::Reasoning => &mut self.reasoning,
        };
        let message = self.state.messages.get(id);
        channel.push(&TextPiece {
            message: id,
            thread: message.and_then(|message| message.thread_id.as_deref()),
            text: &text.text,
            is_new: change.is_new,
            is_line: text.is_line,
        });
    }

    /// What can be shown now.
    fn ready(&mut self, call: Option<ToolCallDelta>) -> Vec<AnswerPart> {
        let (reasoning, content) = (self.reasoning.ready(), self.content.ready());
        let mut parts = texts(reasoning, content);
        parts.extend(call.map(AnswerPart::ToolCall));
        parts
    }

    /// What is left, then how it ended.
    fn last(&mut self) -> Vec<AnswerPart> {
        let Some(ending) = self.state.ending.take() else {
            return Vec::new();
        };
        if self.state.tells(self.failure.as_deref(), &ending) {
            self.content.drop_held();
        }
        let mut parts = texts(self.reasoning.finish(), self.content.finish());
        parts.push(AnswerPart::End(Box::new(ending)));
        parts
    }
}

fn texts(reasoning: String, content: String) -> Vec<AnswerPart> {
    let texts = [
        AnswerPart::Text(AnswerField::Reasoning, reasoning),
        AnswerPart::Text(AnswerField::Content, content),
    ];
    let has_text =
        |part: &AnswerPart| !matches!(part, AnswerPart::Text(_, text) if text.is_empty());
    texts.into_iter().filter(has_text).collect()
}
