//! A turn's log, read as the items of a Response.

use super::event::ResponseEventContent;
use super::item::{ItemStatus, McpCallError, ResponseItem};
use super::output::{CallOutcome, OutputItems};
use super::response::{IncompleteDetails, ResponseObject, ResponseStatus, ResponseUsage};
use super::settings::ClientTool;
use super::text_items::{TextChange, TextItems, TextStep};
use crate::format::answer::{AnswerDelta, AnswerState, TurnEnding, text_of};
use crate::format::{FormatEvent, FormatOptions};
use ambit_runtime::frame::{MessageStatus, StreamEndEvent, TurnEvent};
use ambit_runtime::public_id;
use ambit_runtime::{Frame, ServerFailure};
use serde_json::Value;
use std::collections::HashSet;

/// What was read so far.
pub struct ResponseReader {
    options: FormatOptions,
    state: AnswerState,
    texts: TextItems,
    output: OutputItems,
    /// The messages that show calls of the client.
    client_calls: HashSet<String>,
    /// A message of type `error` that may turn out to be the turn's own failure, which is told otherwise.
    failure: Option<String>,
    end: Option<AnswerEnd>,
}

/// How the turn ended.
struct AnswerEnd {
    ending: TurnEnding,
    is_cancelled: bool,
    /// Seconds since 1970.
    at: Option<i64>,
}

impl ResponseReader {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            state: AnswerState::new(options),
            texts: TextItems::default(),
            output: OutputItems::new(options),
            client_calls: HashSet::new(),
            failure: None,
            end: None,
            options: options.clone(),
        }
    }

    /// Takes a frame in and returns the events that come of it.
    pub fn read(&mut self, frame: &Frame) -> Vec<FormatEvent> {
        match TurnEvent::read(frame) {
            Some(event) => self.event(&event),
            None => self.message(frame),
        }
        self.output.events.drain()
    }

    /// How many events there are so far.
    pub fn event_count(&self) -> u64 {
        self.output.events.count()
    }

    fn event(&mut self, event: &TurnEvent<'_>) {
        self.state.event(event);
        match event {
            TurnEvent::StreamStart(_) => {
                for kind in ["response.created", "response.in_progress"] {
                    let response = Box::new(self.response(Vec::new()));
                    let content = ResponseEventContent::Response { response };
                    self.output.events.write(kind, content);
                }
            }
            TurnEvent::MessageStart(start)
                if start.tool_call.is_some_and(|call| call.is_client) =>
            {
                self.client_calls.insert(start.message_id.to_owned());
            }
            TurnEvent::MessageEnd { message_id, status } => self.end_message(message_id, *status),
            TurnEvent::ReasoningPart(Some(part)) => self.output.reasoning_part((*part).clone()),
            TurnEvent::StreamEnd(end) => self.last(end),
            _ => {}
        }
    }

    fn end_message(&mut self, id: &str, status: Option<MessageStatus>) {
        let status = match status {
            Some(MessageStatus::Partial | MessageStatus::Error) => ItemStatus::Incomplete,
            Some(MessageStatus::Completed) | None => ItemStatus::Completed,
        };
        self.texts.end(id, status);
        self.show_texts();
        if let Some(index) = self.output.call_of(id) {
            self.output.end_arguments(index, status);
            self.settle(id);
        }
    }

    fn message(&mut self, frame: &Frame) {
        let change = self.state.frame(frame);
        let Some(id) = &frame.message_id else {
            return;
        };
        if self.failure.as_ref() != Some(id) {
            self.failure = (frame.kind == "error").then(|| id.clone());
            self.texts.hold(self.failure.as_deref());
        }
        self.push(id, &change);
        self.show_texts();
        self.call(id);
    }

    fn push(&mut self, id: &str, change: &AnswerDelta) {
        let (Some(text), Some(message)) = (&change.text, self.state.messages.get(id)) else {
            return;
        };
        let whole = text_of(message).map(|whole| whole.text).unwrap_or_default();
        self.texts.push(&TextChange {
            message: id,
            thread: message.thread_id.as_deref(),
            place: text.place,
            text: &text.text,
            whole: &whole,
            is_new: change.is_new,
            is_line: text.is_line,
        });
    }

    fn show_texts(&mut self) {
        let steps = self.texts.ready();
        self.show(steps);
    }

    fn show(&mut self, steps: Vec<TextStep>) {
        for step in steps {
            match step {
                TextStep::Begin { message, place } => self.output.begin_text(&message, place),
                TextStep::Text(text) => self.output.text(text),
                TextStep::End(status) => self.output.end_text(status),
            }
        }
    }

    /// What is new of the call that this message shows, if it does.
    fn call(&mut self, id: &str) {
        let Some(message) = self.state.messages.get(id) else {
            return;
        };
        if message.kind != "tool_call" {
            return;
        }
        let text = |name: &str| message.props.get(name).and_then(Value::as_str);
        let arguments = text("arguments").unwrap_or_default();
        let index = match (self.output.call_of(id), text("name")) {
            (Some(index), _) => index,
            (None, Some(name)) if text("id").is_some() => {
                let tool = self.client_tool(id, name, message.thread_id.is_some());
                self.output.begin_call(id, name, tool)
            }
            _ => return,
        };
        self.output.arguments(index, arguments);
        self.settle(id);
    }

    /// The client's tool of this name. Forks have no tools of the client.
    fn client_tool(&self, message: &str, name: &str, is_forked: bool) -> Option<ClientTool> {
        let record = &self.options.response;
        let is_named = self.options.client_tools.iter().any(|known| known == name);
        match record.client_tools.get(name) {
            _ if is_forked => None,
            Some(tool) => Some(tool.clone()),
            None if is_named || self.client_calls.contains(message) => Some(ClientTool::Function),
            None => None,
        }
    }

    /// Tells what came of a call, once that is known.
    fn settle(&mut self, id: &str) {
        let message = self.state.messages.get(id);
        let (Some(message), Some(index)) = (message, self.output.call_of(id)) else {
            return;
        };
        let prop = |name: &str| message.props.get(name).map(as_text).unwrap_or_default();
        let outcome = match message.props.get("status").and_then(Value::as_str) {
            Some("completed") => CallOutcome::Output(prop("result")),
            Some("error") => {
                let failure = ServerFailure::read(&message.props);
                CallOutcome::Error(McpCallError::new(prop("error"), failure))
            }
            _ => return,
        };
        self.output.settle(index, outcome);
    }

    /// What is left, then how it ended.
    fn last(&mut self, end: &StreamEndEvent<'_>) {
        let Some(ending) = self.state.ending.take() else {
            return;
        };
        if self.state.tells(self.failure.as_deref(), &ending) {
            self.texts.drop_held();
        }
        let steps = self.texts.finish();
        self.show(steps);
        self.output.cut_off();
        self.end = Some(AnswerEnd {
            is_cancelled: end.is_cancelled(),
            at: end.timestamp.map(|at| at / 1000),
            ending,
        });
        let response = self.response(self.output.items());
        let kind = match response.status {
            ResponseStatus::Completed | ResponseStatus::InProgress => "response.completed",
            ResponseStatus::Incomplete | ResponseStatus::Cancelled => "response.incomplete",
            ResponseStatus::Failed => "response.failed",
        };
        let response = Box::new(response);
        let content = ResponseEventContent::Response { response };
        self.output.events.write(kind, content);
    }

    /// The Response as it is now, each message in its last state.
    pub fn into_response(self) -> ResponseObject {
        let announced = self.output.announced();
        let items = announced.iter().enumerate().filter_map(|(at, shown)| {
            let later = &announced[at + 1..];
            let mut item = shown.item.clone();
            if let Some(text) = item.text_mut() {
                if later.iter().any(|other| other.message == shown.message) {
                    return None;
                }
                if self.end.is_some() {
                    let message = self.state.messages.get(&shown.message);
                    *text = message.and_then(text_of)?.text;
                }
            }
            Some(item)
        });
        self.response(items.collect())
    }

    fn response(&self, output: Vec<ResponseItem>) -> ResponseObject {
        let options = &self.options;
        let mut response = ResponseObject {
            id: public_id::response_id(&options.request_id),
            object: "response",
            created_at: options.created,
            completed_at: None,
            status: ResponseStatus::InProgress,
            error: None,
            incomplete_details: None,
            model: options.model.clone(),
            output,
            usage: None,
            settings: options.response.settings.clone(),
        };
        let Some(end) = &self.end else {
            return response;
        };
        response.usage = Some(ResponseUsage::from(&end.ending.usage));
        let reason = match end.ending.finish_reason {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        };
        match (&end.ending.failure, reason) {
            (Some(error), _) => response.fail(error),
            (None, _) if end.is_cancelled => response.status = ResponseStatus::Cancelled,
            (None, Some(reason)) => {
                response.status = ResponseStatus::Incomplete;
                response.incomplete_details = Some(IncompleteDetails { reason });
            }
            (None, None) => {
                response.status = ResponseStatus::Completed;
                response.completed_at = end.at;
            }
        }
        response
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
