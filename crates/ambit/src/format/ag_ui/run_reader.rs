//! A turn as a run: what comes of each of its frames.

use super::event::{
    AgUiEvent, AgUiEventContent, PROTOCOL_VERSION, RunMetadata, RunOutcome, RunUsage,
};
use super::message_views::MessageViews;
use super::subagents::{Subagents, ThreadStart};
use crate::format::FormatOptions;
use crate::format::failure::of_end;
use crate::format::frames::{EventData, StreamStart, apply_or_log, model_usage, text};
use ambit_runtime::Frame;
use ambit_runtime::frame::{MessageStatus, OutputMessages};
use serde_json::Value;

/// Reads the frames of a turn.
pub struct RunReader {
    options: FormatOptions,
    /// The chat.
    thread_id: String,
    state: OutputMessages,
    messages: MessageViews,
    subagents: Subagents,
}

impl RunReader {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            options: options.clone(),
            thread_id: String::new(),
            state: OutputMessages::default(),
            messages: MessageViews::new(&options.request_id),
            subagents: Subagents::default(),
        }
    }

    /// Takes a frame in and returns what the client is told.
    pub fn read(&mut self, frame: &Frame) -> Vec<AgUiEvent> {
        if frame.kind != "event" {
            return self.message(frame);
        }
        apply_or_log(&mut self.state, frame);
        let (Some(name), Some(data)) = (frame.event_name(), frame.event_data()) else {
            return Vec::new();
        };
        let thread = text(data, "thread_id").or_else(|| frame.thread_id.clone());
        let thread = thread.as_deref();
        match name {
            "stream_start" => vec![self.started(data)],
            "stream_end" => self.ended(frame, data),
            "thread_start" => self.thread_started(thread.unwrap_or_default(), data),
            "thread_end" => {
                let request_id = &self.options.request_id;
                let thread = thread.unwrap_or_default();
                self.subagents.end(request_id, thread, status(data))
            }
            "step_start" => self.step_started(thread, data).into_iter().collect(),
            "step_end" => {
                self.messages.begin_answer(thread);
                let request_id = &self.options.request_id;
                let ended = self
                    .subagents
                    .end_step(request_id, thread, &step_name(data));
                ended.into_iter().collect()
            }
            "message_start" => self.message_started(data),
            "message_end" => self.message_ended(data),
            "references" => {
                let value = data.get("references").cloned().unwrap_or_default();
                let name = "ambit.references";
                vec![self.tagged(thread, AgUiEventContent::Custom { name, value })]
            }
            "state" => self.state_changed(data).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn tagged(&self, thread: Option<&str>, content: AgUiEventContent) -> AgUiEvent {
        let request_id = &self.options.request_id;
        AgUiEvent {
            content,
            subagent_run_id: thread.map(|thread| self.subagents.run_id(request_id, thread)),
        }
    }
}

/// The run, its threads and its steps.
impl RunReader {
    fn started(&mut self, data: &EventData) -> AgUiEvent {
        let start = StreamStart::of(data);
        self.thread_id = start.chat_id.unwrap_or_default();
        self.tagged(
            None,
            AgUiEventContent::RunStarted {
                thread_id: self.thread_id.clone(),
                run_id: self.run_id(),
                protocol_version: PROTOCOL_VERSION,
                metadata: RunMetadata {
                    request_id: self.options.request_id.clone(),
                    context_id: start.context_id,
                    trace_id: start.trace_id,
                    assistant_id: self.options.model.clone(),
                },
            },
        )
    }

    /// The client's name of the run, or else the turn's.
    fn run_id(&self) -> String {
        let FormatOptions {
            run_id, request_id, ..
        } = &self.options;
        run_id.as_ref().unwrap_or(request_id).clone()
    }

    fn ended(&mut self, frame: &Frame, data: &EventData) -> Vec<AgUiEvent> {
        let is_completed = data
            .get("status")
            .is_some_and(|status| *status == "completed");
        let mut events = self.close_all(is_completed);
        let usage = model_usage(data).into_iter();
        let usage: Vec<RunUsage> = usage.map(RunUsage::from).collect();
        let content = match of_end(frame) {
            Some(failure) => AgUiEventContent::RunError {
                message: failure.message,
                code: failure.code.to_string(),
                usage,
            },
            None => AgUiEventContent::RunFinished {
                thread_id: self.thread_id.clone(),
                run_id: self.run_id(),
                result: data.get("next").cloned().unwrap_or_default(),
                outcome: match is_completed {
                    true => RunOutcome::Success {
                        pending_tool_call_ids: self.messages.pending_calls(),
                    },
                    false => RunOutcome::Cancelled,
                },
                usage,
            },
        };
        events.push(self.tagged(None, content));
        events
    }

    /// Ends what the log has left open.
    fn close_all(&mut self, is_completed: bool) -> Vec<AgUiEvent> {
        let mut events = Vec::new();
        for id in self.messages.ids() {
            let contents = self.messages.close(&id);
            events.extend(self.of_message(&id, contents));
        }
        let status = match is_completed {
            true => MessageStatus::Completed,
            false => MessageStatus::Partial,
        };
        let request_id = &self.options.request_id;
        events.extend(self.subagents.end_all(request_id, status));
        events
    }

    fn thread_started(&mut self, thread: &str, data: &EventData) -> Vec<AgUiEvent> {
        let named = |name: &str| data.get(name).and_then(Value::as_str);
        let agent = named("assistant_id").unwrap_or(&self.options.model);
        let start = ThreadStart {
            thread,
            agent,
            parent: named("parent_thread_id"),
            call_message: named("call_message_id"),
        };
        self.subagents.begin(&self.options.request_id, &start)
    }

    fn step_started(&mut self, thread: Option<&str>, data: &EventData) -> Option<AgUiEvent> {
        self.messages.begin_answer(thread);
        let request_id = &self.options.request_id;
        self.subagents
            .begin_step(request_id, thread, step_name(data))
    }

    fn state_changed(&self, data: &EventData) -> Option<AgUiEvent> {
        let content = match (data.get("snapshot"), data.get("delta")) {
            (Some(snapshot), _) => AgUiEventContent::StateSnapshot {
                snapshot: snapshot.clone(),
            },
            (None, Some(delta)) => AgUiEventContent::StateDelta {
                delta: delta.clone(),
            },
            (None, None) => return None,
        };
        Some(self.tagged(None, content))
    }
}

/// Messages.
impl RunReader {
    /// The events of a message.
    fn of_message(&self, id: &str, contents: Vec<AgUiEventContent>) -> Vec<AgUiEvent> {
        let thread = self.state.get(id).and_then(|shown| shown.thread_id.clone());
        let contents = contents.into_iter();
        contents
            .map(|content| self.tagged(thread.as_deref(), content))
            .collect()
    }

    fn message_started(&mut self, data: &EventData) -> Vec<AgUiEvent> {
        let is_amendment = data.get("amend").is_some_and(|amend| *amend == true);
        let (Some(id), false) = (text(data, "message_id"), is_amendment) else {
            return Vec::new();
        };
        let tool = data.get("tool_call").and_then(|call| call.get("name"));
        let tool = tool.and_then(Value::as_str);
        let message = self.state.get(&id);
        let contents = message.map(|message| self.messages.start(message, tool));
        self.of_message(&id, contents.unwrap_or_default())
    }

    fn message_ended(&mut self, data: &EventData) -> Vec<AgUiEvent> {
        let Some(id) = text(data, "message_id") else {
            return Vec::new();
        };
        let message = self.state.get(&id);
        let contents = message.map(|message| self.messages.end(message));
        self.of_message(&id, contents.unwrap_or_default())
    }

    fn message(&mut self, frame: &Frame) -> Vec<AgUiEvent> {
        let Some(id) = frame.message_id.as_deref() else {
            return Vec::new();
        };
        if let Some(contents) = self.messages.append(id, frame) {
            apply_or_log(&mut self.state, frame);
            return self.of_message(id, contents);
        }
        let before = self.messages.before(self.state.get(id), frame);
        apply_or_log(&mut self.state, frame);
        let message = self.state.get(id);
        let contents = message.map(|message| self.messages.show(before, message));
        self.of_message(id, contents.unwrap_or_default())
    }
}

fn step_name(data: &EventData) -> String {
    let index = data.get("index").and_then(Value::as_u64);
    format!("llm:{}", index.unwrap_or_default())
}

fn status(data: &EventData) -> MessageStatus {
    let status = text(data, "status");
    let status = status.and_then(|status| MessageStatus::parse(&status));
    status.unwrap_or(MessageStatus::Completed)
}
