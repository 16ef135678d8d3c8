//! A turn as a run: what comes of each of its frames.

use super::event::{
    AgUiEvent, AgUiEventContent, PROTOCOL_VERSION, RunMetadata, RunOutcome, RunUsage,
};
use super::message_views::MessageViews;
use super::subagents::Subagents;
use crate::format::FormatOptions;
use crate::format::failure::of_end;
use crate::format::frames::{StreamStart, apply_or_log, model_usage};
use ambit_runtime::Frame;
use ambit_runtime::frame::{
    MessageStartEvent, MessageStatus, OutputMessages, StreamEndEvent, StreamStartEvent,
    ThreadStartEvent, TurnEvent,
};

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
        match TurnEvent::read(frame) {
            Some(event) => self.event(&event),
            None => self.message(frame),
        }
    }

    fn event(&mut self, event: &TurnEvent<'_>) -> Vec<AgUiEvent> {
        self.state.apply_event(event);
        match *event {
            TurnEvent::StreamStart(start) => vec![self.started(&start)],
            TurnEvent::StreamEnd(end) => self.ended(&end),
            TurnEvent::ThreadStart(start) => self.thread_started(&start),
            TurnEvent::ThreadEnd { thread_id, status } => {
                let request_id = &self.options.request_id;
                let status = status.unwrap_or(MessageStatus::Completed);
                self.subagents.end(request_id, thread_id, status)
            }
            TurnEvent::StepStart { thread_id, index } => {
                self.step_started(thread_id, index).into_iter().collect()
            }
            TurnEvent::StepEnd(end) => {
                self.messages.begin_answer(end.thread_id);
                let (request_id, name) = (&self.options.request_id, step_name(end.index));
                let ended = self.subagents.end_step(request_id, end.thread_id, &name);
                ended.into_iter().collect()
            }
            TurnEvent::MessageStart(start) => self.message_started(&start),
            TurnEvent::MessageEnd { message_id, .. } => self.message_ended(message_id),
            TurnEvent::References {
                thread_id,
                references,
            } => {
                let value = references.cloned().unwrap_or_default();
                let name = "ambit.references";
                vec![self.tagged(thread_id, AgUiEventContent::Custom { name, value })]
            }
            TurnEvent::StateSnapshot(snapshot) => {
                let snapshot = snapshot.clone();
                vec![self.tagged(None, AgUiEventContent::StateSnapshot { snapshot })]
            }
            TurnEvent::StateDelta(delta) => {
                let delta = delta.clone();
                vec![self.tagged(None, AgUiEventContent::StateDelta { delta })]
            }
            TurnEvent::Interrupt { .. } | TurnEvent::ReasoningPart(_) | TurnEvent::Other => {
                Vec::new()
            }
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
    fn started(&mut self, start: &StreamStartEvent<'_>) -> AgUiEvent {
        let start = StreamStart::from(start);
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

    fn ended(&mut self, end: &StreamEndEvent<'_>) -> Vec<AgUiEvent> {
        let is_completed = end.status == Some("completed");
        let mut events = self.close_all(is_completed);
        let usage = model_usage(end).into_iter();
        let usage: Vec<RunUsage> = usage.map(RunUsage::from).collect();
        let content = match of_end(end) {
            Some(failure) => AgUiEventContent::RunError {
                message: failure.message,
                code: failure.code.to_string(),
                usage,
            },
            None => AgUiEventContent::RunFinished {
                thread_id: self.thread_id.clone(),
                run_id: self.run_id(),
                result: end.next.cloned().unwrap_or_default(),
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

    fn thread_started(&mut self, start: &ThreadStartEvent<'_>) -> Vec<AgUiEvent> {
        let agent = start.assistant_id.unwrap_or(&self.options.model);
        self.subagents.begin(&self.options.request_id, agent, start)
    }

    fn step_started(&mut self, thread: Option<&str>, index: u64) -> Option<AgUiEvent> {
        self.messages.begin_answer(thread);
        let request_id = &self.options.request_id;
        self.subagents
            .begin_step(request_id, thread, step_name(index))
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

    fn message_started(&mut self, start: &MessageStartEvent<'_>) -> Vec<AgUiEvent> {
        if start.is_amendment {
            return Vec::new();
        }
        let id = start.message_id;
        let tool = start.tool_call.and_then(|call| call.name);
        let message = self.state.get(id);
        let contents = message.map(|message| self.messages.start(message, tool));
        self.of_message(id, contents.unwrap_or_default())
    }

    fn message_ended(&mut self, id: &str) -> Vec<AgUiEvent> {
        let message = self.state.get(id);
        let contents = message.map(|message| self.messages.end(message));
        self.of_message(id, contents.unwrap_or_default())
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

fn step_name(index: u64) -> String {
    format!("llm:{index}")
}
