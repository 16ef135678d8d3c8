//! What an outbox knows: the state of the messages, and what the frames of each still need.

use super::group::MessageGroup;
use super::{MessageAuthor, OutboxLimits};
use crate::error::{Error, ErrorCode, Result};
use crate::frame::change::MessageProps;
use crate::frame::{Frame, OutputMessage, OutputMessages, STREAM_EVENTS, apply};
use crate::stream::StreamWriter;
use ambit_storage::clock::{Clock, Millis};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct MessageWriter {
    pub log: StreamWriter,
    pub limits: OutboxLimits,
    pub clock: Clock,
    pub state: OutputMessages,
    pub meta: HashMap<String, MessageMeta>,
    pub blocks: Vec<MessageGroup>,
    pub threads: Vec<MessageGroup>,
    pub warnings: Vec<String>,
    /// The last ids given out: messages, blocks, threads, chunks.
    pub counters: Arc<[AtomicU64; 4]>,
    /// Bytes of all that was said.
    pub bytes: usize,
    pub is_ended: bool,
}

/// What is known of a message beside its content.
#[derive(Debug, Default)]
pub(super) struct MessageMeta {
    pub is_open: bool,
    pub is_silent: bool,
    /// The type that its frames say.
    pub kind: String,
    /// It was changed while the log was full, and its frames do not show that yet.
    pub is_behind: bool,
    pub has_warned: bool,
    pub started: Millis,
    /// Frames with content since the start.
    pub chunks: u64,
    /// At least the bytes of the props.
    pub size: usize,
    /// The entry that may still take more text, and the path of that text.
    pub tail: Option<(u64, String)>,
    /// The call of a tool that it shows.
    pub tool_call: Option<ToolCallStart>,
    /// The agent that says it, if that is not the turn's.
    pub assistant_id: Option<String>,
}

/// A call of a tool as the start of its message names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallStart {
    /// The call.
    pub id: String,
    /// The tool, as the model calls it.
    pub name: String,
    /// Which of the answer's calls it is, from 0.
    pub index: usize,
    /// The client runs it.
    #[serde(default, rename = "client", skip_serializing_if = "std::ops::Not::not")]
    pub is_client: bool,
}

/// A message that begins.
#[derive(Debug, Default)]
pub(super) struct MessageStart {
    pub id: Option<String>,
    pub kind: String,
    pub block: Option<String>,
    pub thread: Option<String>,
    pub metadata: Option<Map<String, Value>>,
    pub tool_call: Option<ToolCallStart>,
}

impl MessageStart {
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }
}

impl MessageWriter {
    pub fn new(log: StreamWriter, limits: OutboxLimits, clock: Clock) -> Self {
        Self {
            log,
            limits,
            clock,
            state: OutputMessages::default(),
            meta: HashMap::new(),
            blocks: Vec::new(),
            threads: Vec::new(),
            warnings: Vec::new(),
            counters: Arc::default(),
            bytes: 0,
            is_ended: false,
        }
    }

    /// A free id: `M1`, `B1`, `T1`; chunks count for themselves.
    pub fn message_id(&mut self) -> String {
        self.free_id(0, "M", |writer, id| writer.meta.contains_key(id))
    }

    pub fn block_id(&mut self) -> String {
        let is_used = |writer: &Self, id: &str| writer.blocks.iter().any(|it| it.id == id);
        self.free_id(1, "B", is_used)
    }

    pub fn thread_id(&mut self) -> String {
        let is_used = |writer: &Self, id: &str| writer.threads.iter().any(|it| it.id == id);
        self.free_id(2, "T", is_used)
    }

    fn free_id(&mut self, which: usize, letter: &str, is_used: fn(&Self, &str) -> bool) -> String {
        loop {
            let number = self.counters[which].fetch_add(1, Ordering::Relaxed) + 1;
            let id = format!("{letter}{number}");
            if !is_used(self, &id) {
                return id;
            }
        }
    }

    /// The id of the next frame with content of this message.
    pub fn chunk_id(&mut self, id: &str) -> String {
        if let Some(meta) = self.meta.get_mut(id) {
            meta.chunks += 1;
        }
        let number = self.counters[3].fetch_add(1, Ordering::Relaxed) + 1;
        format!("C{number}")
    }

    /// Adds a frame to the log.
    pub fn put(&self, frame: &Frame) {
        if let Ok(text) = serde_json::to_string(frame) {
            self.log.append(text);
        }
    }

    pub fn emit(&mut self, name: &str, data: Value) {
        if self.is_ended {
            return;
        }
        let mut frame = Frame::event(name, message_of(name), data);
        if name.starts_with("step_") {
            let thread = frame.event_data().and_then(|data| data.get("thread_id"));
            let thread = thread.and_then(Value::as_str).map(str::to_owned);
            if let Some(thread) = &thread {
                self.begin_thread(thread);
            }
            frame.thread_id = thread;
        }
        if name == "stream_start" {
            let _ = apply(&mut self.state, &frame);
        }
        if name != "stream_end" {
            return self.put(&frame);
        }
        self.is_ended = true;
        if let Ok(text) = serde_json::to_string(&frame) {
            self.log.append_last(text);
        }
    }

    /// Refuses what is more than a turn may say.
    pub fn check_output(&self, bytes: usize) -> Result<()> {
        let limit = self.limits.output;
        if self.bytes + bytes > limit {
            let what = format!("output limit exceeded ({limit} bytes per turn)");
            return Err(Error::new(ErrorCode::OutputLimit, what));
        }
        Ok(())
    }

    /// Begins a message.
    pub fn open(&mut self, author: &MessageAuthor, start: MessageStart) -> Result<String> {
        self.check_running()?;
        let limit = self.limits.messages;
        if self.meta.len() >= limit {
            let what = format!("output limit exceeded ({limit} messages per turn)");
            return Err(Error::new(ErrorCode::OutputLimit, what));
        }
        let id = match start.id {
            Some(id) if self.meta.contains_key(&id) => {
                let what = format!("message id \"{id}\" is already in use");
                return Err(Error::new(ErrorCode::InvalidArgument, what));
            }
            Some(id) => id,
            None => self.message_id(),
        };
        let assistant_id = Some(&author.assistant_id)
            .filter(|id| !id.is_empty() && *id != self.state.assistant())
            .cloned();
        let thread = start.thread.or_else(|| author.thread.clone());
        if !author.is_silent {
            self.enter(thread.as_deref(), start.block.as_deref());
        }
        let message = self.state.get_or_new(&id, &start.kind);
        message.block_id = start.block;
        message.thread_id = thread;
        message.metadata = start.metadata;
        if !author.assistant_id.is_empty() {
            message.assistant_id.clone_from(&author.assistant_id);
        }
        let meta = MessageMeta {
            is_open: true,
            is_silent: author.is_silent,
            kind: message.kind.clone(),
            started: self.clock.now(),
            tool_call: start.tool_call,
            assistant_id,
            ..MessageMeta::default()
        };
        self.meta.insert(id.clone(), meta);
        self.announce(&id, false);
        Ok(id)
    }

    pub fn check_running(&self) -> Result<()> {
        if self.is_ended {
            return Err(Error::new(ErrorCode::Cancelled, "the turn has ended"));
        }
        Ok(())
    }

    /// Sends a message whole.
    pub fn put_whole(&mut self, id: &str, props: MessageProps) {
        let Some(message) = self.state.get_mut(id) else {
            return;
        };
        message.props.clone_from(&props);
        let mut frame = Frame {
            props,
            metadata: message.metadata.clone(),
            ..frame_of(message)
        };
        if self.is_silent(id) {
            return;
        }
        frame.chunk_id = Some(self.chunk_id(id));
        self.put(&frame);
    }

    pub fn is_silent(&self, id: &str) -> bool {
        self.meta.get(id).is_none_or(|meta| meta.is_silent)
    }

    /// The messages that were sent.
    pub fn shown(&self) -> Vec<OutputMessage> {
        let messages = self.state.messages().iter();
        let sent = messages.filter(|message| !self.is_silent(&message.message_id));
        let ordered = sent.cloned().enumerate();
        ordered
            .map(|(order, message)| OutputMessage { order, ..message })
            .collect()
    }
}

/// What every frame of a message says.
pub(super) fn frame_of(message: &OutputMessage) -> Frame {
    Frame {
        kind: message.kind.clone(),
        message_id: Some(message.message_id.clone()),
        block_id: message.block_id.clone(),
        thread_id: message.thread_id.clone(),
        ..Frame::default()
    }
}

fn message_of(event: &str) -> &'static str {
    let row = STREAM_EVENTS.iter().find(|row| row.name == event);
    row.map_or("", |row| row.message)
}
