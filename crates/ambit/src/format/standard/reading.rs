//! The log as someone reads it who knows only OpenAI's chat completions.

use super::calls::Calls;
use super::shown::{Place, Shown, shown};
use crate::format::message::{Message, Messages};
use crate::format::{Options, failure};
use ambit_runtime::frame::Action;
use ambit_runtime::{Error, Frame};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// What was read so far.
pub struct Reading {
    pub messages: Messages,
    pub calls: Calls,
    /// The messages that have been shown, in the order in which they first were.
    pub order: Vec<usize>,
    noted: HashSet<usize>,
    pub start: Map<String, Value>,
    pub ending: Option<Ending>,
    finish_reason: String,
    has_open_calls: bool,
}

/// How the turn ended.
pub struct Ending {
    pub failure: Option<Error>,
    pub finish_reason: &'static str,
    pub usage: Value,
    pub next: Value,
}

/// What an entry changes.
#[derive(Default)]
pub struct Change {
    /// The message that it is about.
    pub place: Option<usize>,
    /// Text to be shown.
    pub text: Option<Shown>,
    /// The text does not go on where the message's text was.
    pub is_new: bool,
    /// An item of `delta.tool_calls`.
    pub call: Option<Value>,
}

impl Reading {
    pub fn new(options: &Options) -> Self {
        Self {
            messages: Messages::default(),
            calls: Calls::new(&options.client_tools),
            order: Vec::new(),
            noted: HashSet::new(),
            start: Map::new(),
            ending: None,
            finish_reason: String::new(),
            has_open_calls: false,
        }
    }

    pub fn message(&self, place: usize) -> &Message {
        &self.messages.list()[place]
    }

    /// Takes an event in.
    pub fn event(&mut self, frame: &Frame) {
        let empty = Map::new();
        let data = frame.event_data().unwrap_or(&empty);
        match frame.event_name() {
            Some("stream_start") => self.start = data.clone(),
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

    fn end(&self, frame: &Frame, data: &Map<String, Value>) -> Ending {
        let is_completed = data
            .get("status")
            .is_none_or(|status| status == "completed");
        let finish_reason = match self.finish_reason.as_str() {
            _ if !is_completed => "stop",
            _ if self.has_open_calls => "tool_calls",
            "length" => "length",
            "content_filter" => "content_filter",
            _ => "stop",
        };
        let nothing = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
        Ending {
            failure: failure::of_end(frame),
            finish_reason,
            usage: data.get("usage").cloned().unwrap_or(nothing),
            next: data.get("next").cloned().unwrap_or_default(),
        }
    }

    /// Takes a frame of a message in.
    pub fn frame(&mut self, frame: Frame) -> Change {
        let Some(place) = self.messages.place(&frame) else {
            return Change::default();
        };
        let appended = appended(self.message(place), &frame);
        let is_silent = self.is_silent(place, &frame);
        let before = match appended {
            None => shown(self.message(place)),
            Some(_) => None,
        };
        self.messages.apply(place, frame);
        let mut change = Change {
            place: Some(place),
            ..Change::default()
        };
        if let Some(text) = appended {
            self.note(place);
            change.text = Some(text);
            return change;
        }
        change.call = self.calls.take(&self.messages.list()[place]);
        self.has_open_calls |= change.call.is_some();
        let Some(after) = shown(self.message(place)) else {
            return change;
        };
        self.note(place);
        if !is_silent && before.as_ref() != Some(&after) {
            let goes_on = before.and_then(|before| rest(&before, &after));
            change.is_new = goes_on.is_none();
            change.text = Some(goes_on.unwrap_or(after));
        }
        change
    }

    /// Changes inside messages that are not plain text cannot be told as text.
    fn is_silent(&self, place: usize, frame: &Frame) -> bool {
        let kind = self.message(place).kind.as_str();
        let is_inner = matches!(frame.delta_action, Some(Action::Merge | Action::Set));
        frame.delta && is_inner && !matches!(kind, "text" | "thinking")
    }

    fn note(&mut self, place: usize) {
        if self.noted.insert(place) {
            self.order.push(place);
        }
    }
}

/// The usual case, without looking at the whole message: more text behind a text.
fn appended(message: &Message, frame: &Frame) -> Option<Shown> {
    let place = match message.kind.as_str() {
        "text" => Place::Content,
        "thinking" => Place::Reasoning,
        _ => return None,
    };
    let is_append = frame.delta && matches!(frame.delta_action, None | Some(Action::Append));
    let is_content = frame
        .delta_path
        .as_deref()
        .is_none_or(|path| path == "content");
    let text = frame.props.get("content")?.as_str()?;
    let is_more = is_append && is_content && !text.is_empty();
    is_more.then(|| Shown {
        place,
        text: text.to_owned(),
        is_line: false,
    })
}

/// What was added behind, if nothing else changed.
fn rest(before: &Shown, after: &Shown) -> Option<Shown> {
    if before.place != after.place || before.is_line || after.is_line {
        return None;
    }
    let rest = after.text.strip_prefix(before.text.as_str())?;
    Some(Shown {
        text: rest.to_owned(),
        ..after.clone()
    })
}
