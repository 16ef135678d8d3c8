//! What is read so far of a log: its messages, the client's calls and how the turn ended.

use super::client_tool_calls::{ClientToolCalls, ToolCallDelta};
use super::message_text::{AnswerField, MessageText, text_of};
use super::text_queue::{TextPiece, TextQueue};
use crate::format::frames::{StreamStart, apply_or_log, usage};
use crate::format::{FormatOptions, failure};
use ambit_runtime::frame::{DeltaAction, OutputMessage, OutputMessages};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::{Error, Frame};
use serde_json::{Map, Value};
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
    pub fn event(&mut self, frame: &Frame) {
        apply_or_log(&mut self.messages, frame);
        let empty = Map::new();
        let data = frame.event_data().unwrap_or(&empty);
        match frame.event_name() {
            Some("stream_start") => self.start = StreamStart::of(data),
            Some("message_start") => {
                let id = data.get("message_id").and_then(Value::as_str);
                if let (Some(id), Some(call)) = (id, data.get("tool_call")) {
                    self.calls.begin(id, call);
                }
            }
            // Steps of forks say nothing about how the turn's own answer ends.
            Some("step_start") if frame.thread_id.is_none() => self.has_open_calls = false,
            Some("step_end") if frame.thread_id.is_none() => {
                let reason = data.get("finish_reason").and_then(Value::as_str);
                self.finish_reason = reason.unwrap_or_default().to_owned();
            }
            Some("stream_end") => self.ending = Some(self.end(frame, data)),
            _ => {}
        }
    }

    fn end(&self, frame: &Frame, data: &Map<String, Value>) -> TurnEnding {
        let is_completed = data
            .get("status")
            .is_none_or(|status| status == "completed");
        let told = data.get("finish_reason").and_then(Value::as_str);
        let finish_reason = match told.unwrap_or(&self.finish_reason) {
            _ if !is_completed => "stop",
            "length" => "length",
            "content_filter" => "content_filter",
            _ if self.has_open_calls => "tool_calls",
            _ => "stop",
        };
        TurnEnding {
            failure: failure::of_end(frame),
            finish_reason,
            usage: usage(data).unwrap_or_default(),
            next: data.get("next").cloned().unwrap_or_default(),
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
