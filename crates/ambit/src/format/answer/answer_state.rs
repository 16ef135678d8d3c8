//! What is read so far of a log: its messages, the client's calls and how the turn ended.

use super::client_tool_calls::{ClientToolCalls, ToolCallDelta};
use super::message_text::{AnswerField, MessageText, text_of};
use super::text_queue::{TextPiece, TextQueue};
use crate::format::frames::{StreamStart, apply_or_log, usage};
use crate::format::{FormatOptions, failure};
use ambit_runtime::frame::{DeltaAction, OutputMessage, OutputMessages, StreamEndEvent, TurnEvent};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::{Error, Frame};
use serde_json::Value;
use std::collections::HashSet;

/// What was read so far.
pub struct AnswerState {
    pub messages: OutputMessages,
    pub calls: ClientToolCalls,
    /// The messages that have been shown, and where, in the order in which they first were.
    pub order: Vec<(AnswerField, usize)>,
    noted: HashSet<(AnswerField, usize)>,
    pub start: StreamStart,
    pub ending: Option<TurnEnding>,
    finish_reason: String,
    has_open_calls: bool,
}

/// How the turn ended.
pub struct TurnEnding {
    pub failure: Option<Error>,
    pub finish_reason: &'static str,
    pub usage: TokenUsage,
    pub next: Value,
}

/// What an entry changes.
#[derive(Default)]
pub struct AnswerDelta {
    /// Text to be shown.
    pub text: Option<MessageText>,
    /// The text does not go on where the message's text was.
    pub is_new: bool,
    /// An item of `delta.tool_calls`.
    pub call: Option<ToolCallDelta>,
}

impl AnswerState {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            messages: OutputMessages::default(),
            calls: ClientToolCalls::new(&options.client_tools),
            order: Vec::new(),
            noted: HashSet::new(),
            start: StreamStart::default(),
            ending: None,
            finish_reason: String::new(),
            has_open_calls: false,
        }
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &TurnEvent<'_>) {
        self.messages.apply_event(event);
        match event {
            TurnEvent::StreamStart(start) => self.start = StreamStart::from(start),
            TurnEvent::MessageStart(start)
                if start.tool_call.is_some_and(|call| call.is_client) =>
            {
                self.calls.begin(start.message_id);
            }
            // Steps of forks say nothing about how the turn's own answer ends.
            TurnEvent::StepStart {
                thread_id: None, ..
            } => self.has_open_calls = false,
            TurnEvent::StepEnd(end) if end.thread_id.is_none() => {
                self.finish_reason = end.finish_reason.unwrap_or_default().to_owned();
            }
            TurnEvent::StreamEnd(end) => self.ending = Some(self.end(end)),
            _ => {}
        }
    }

    fn end(&self, end: &StreamEndEvent<'_>) -> TurnEnding {
        let is_completed = end.status.is_none_or(|status| status == "completed");
        let finish_reason = match end.finish_reason.unwrap_or(&self.finish_reason) {
            _ if !is_completed => "stop",
            "length" => "length",
            "content_filter" => "content_filter",
            _ if self.has_open_calls => "tool_calls",
            _ => "stop",
        };
        TurnEnding {
            failure: failure::of_end(end),
            finish_reason,
            usage: usage(end).unwrap_or_default(),
            next: end.next.cloned().unwrap_or_default(),
        }
    }

    /// Takes a frame in, whatever it is of.
    pub fn read(&mut self, frame: &Frame) {
        match TurnEvent::read(frame) {
            Some(event) => self.event(&event),
            None => drop(self.frame(frame)),
        }
    }

    /// Takes a frame of a message in.
    pub fn frame(&mut self, frame: &Frame) -> AnswerDelta {
        let known = frame
            .message_id
            .as_deref()
            .and_then(|id| self.messages.get(id));
        let appended = known.and_then(|message| appended(message, frame));
        let is_silent = is_silent(known, frame);
        let before = match appended {
            None => known.and_then(text_of),
            Some(_) => None,
        };
        apply_or_log(&mut self.messages, frame);
        let mut change = AnswerDelta::default();
        let message = frame
            .message_id
            .as_deref()
            .and_then(|id| self.messages.get(id));
        let Some(message) = message else {
            return change;
        };
        let place = message.order;
        if let Some(text) = appended {
            self.note(text.place, place);
            change.text = Some(text);
            return change;
        }
        change.call = self.calls.take(message);
        self.has_open_calls |= change.call.is_some();
        let Some(after) = text_of(message) else {
            return change;
        };
        self.note(after.place, place);
        if !is_silent && before.as_ref() != Some(&after) {
            let goes_on = before.and_then(|before| rest(&before, &after));
            change.is_new = goes_on.is_none();
            change.text = Some(goes_on.unwrap_or(after));
        }
        change
    }

    /// Whether this message, one of type `error`, says what the turn's end says.
    pub fn tells(&self, message: Option<&str>, ending: &TurnEnding) -> bool {
        let message = message.and_then(|id| self.messages.get(id));
        let said = message.and_then(|message| message.props.get("message")?.as_str());
        let told = ending.failure.as_ref().map(|error| error.message.as_str());
        said.is_some() && said == told
    }

    /// The final texts in the order in which a stream shows them.
    pub fn text(&self, place: AnswerField) -> String {
        let mut channel = TextQueue::default();
        let mut text = String::new();
        for (_, index) in self.order.iter().filter(|(shown, _)| *shown == place) {
            let message = &self.messages.messages()[*index];
            let Some(shown) = text_of(message).filter(|shown| shown.place == place) else {
                continue;
            };
            channel.push(&TextPiece {
                message: &message.message_id,
                thread: message.thread_id.as_deref(),
                text: &shown.text,
                is_new: true,
                is_line: shown.is_line,
            });
            channel.close(&message.message_id);
            text.push_str(&channel.ready());
        }
        text
    }

    fn note(&mut self, place: AnswerField, message: usize) {
        if self.noted.insert((place, message)) {
            self.order.push((place, message));
        }
    }
}

/// Changes inside messages that are not plain text cannot be told as text.
fn is_silent(message: Option<&OutputMessage>, frame: &Frame) -> bool {
    let kind = message.map_or(frame.kind.as_str(), |message| message.kind.as_str());
    let is_inner = matches!(
        frame.delta_action,
        Some(DeltaAction::Merge | DeltaAction::Set)
    );
    frame.delta && is_inner && !matches!(kind, "text" | "thinking")
}

/// The usual case, without looking at the whole message: more text behind a text.
fn appended(message: &OutputMessage, frame: &Frame) -> Option<MessageText> {
    let place = match message.kind.as_str() {
        "text" => AnswerField::Content,
        "thinking" => AnswerField::Reasoning,
        _ => return None,
    };
    let is_append = frame.delta && matches!(frame.delta_action, None | Some(DeltaAction::Append));
    let is_content = frame
        .delta_path
        .as_deref()
        .is_none_or(|path| path == "content");
    let text = frame.props.get("content")?.as_str()?;
    let is_more = is_append && is_content && !text.is_empty();
    is_more.then(|| MessageText {
        place,
        text: text.to_owned(),
        is_line: false,
    })
}

/// What was added behind, if nothing else changed.
fn rest(before: &MessageText, after: &MessageText) -> Option<MessageText> {
    if before.place != after.place || before.is_line || after.is_line {
        return None;
    }
    let rest = after.text.strip_prefix(before.text.as_str())?;
    Some(MessageText {
        text: rest.to_owned(),
        ..after.clone()
    })
}
