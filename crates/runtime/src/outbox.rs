//! The messages of one turn: what is said becomes frames of the turn's log, and the state that all of them leave is what is
//! stored.
//!
//! Everything here is synchronous; the log stores behind it. What is applied to the state is what the frames say, so that the
//! stored messages are those that a client holds that applied every frame.

mod agent_outbox;
mod change;
mod delta;
mod draft;
mod group;
mod lifecycle;
mod message_writer;
mod restore;

pub use agent_outbox::AgentOutbox;
pub use message_writer::ToolCallStart;

use crate::error::Result;
use crate::frame::{MessageStatus, OutputMessage};
use crate::lock::lock;
use crate::stream::StreamWriter;
use ambit_storage::clock::Clock;
use message_writer::MessageWriter;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};

/// What one turn may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Bytes of one message's props.
    pub message: usize,
    /// Bytes of all that is said.
    pub output: usize,
    pub messages: usize,
}

/// The messages of one turn. The clones are the same outbox.
#[derive(Clone)]
pub struct Outbox(Arc<Mutex<MessageWriter>>);

/// Who speaks: one agent in one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageAuthor {
    /// The thread of a fork; the main flow has none.
    pub thread: Option<String>,
    /// The message that shows the call of the tool whose script speaks.
    pub call_message: Option<String>,
    /// Nothing is sent or kept; ids are given all the same.
    pub is_silent: bool,
    /// The agent.
    pub assistant_id: String,
}

impl Outbox {
    /// The messages of a new turn.
    pub fn new(log: StreamWriter, limits: OutboxLimits, clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(MessageWriter::new(log, limits, clock))))
    }

    /// The messages of a call that nobody sees, in a log of their own; no id of theirs is another's.
    pub fn detached(&self, log: StreamWriter) -> Self {
        let writer = self.lock_writer();
        let mut detached = MessageWriter::new(log, writer.limits, writer.clock.clone());
        detached.counters = writer.counters.clone();
        Self(Arc::new(Mutex::new(detached)))
    }

    /// Somebody who speaks here.
    pub fn for_author(&self, author: MessageAuthor) -> AgentOutbox {
        AgentOutbox::new(self.clone(), author)
    }

    /// Emits an event of the runtime: `stream_start`, `step_start`, `references`, `interrupt` … `stream_end` is the last
    /// entry: the log keeps it back until the turn's own batch, or `StreamWriter::flush`, stores it.
    pub fn emit(&self, name: &str, data: Value) {
        self.lock_writer().emit(name, data);
    }

    /// Ends every message, block and thread that is open. `auto_ended` marks messages that were meant to go on.
    pub fn close_all(&self, status: MessageStatus, auto_ended: bool) {
        self.lock_writer().close_all(status, auto_ended);
    }

    /// The messages as they are now, in the order of their beginning; what silent authors said is not among them.
    pub fn messages(&self) -> Vec<OutputMessage> {
        self.lock_writer().shown()
    }

    /// One message as it is now, whether it was sent or not.
    pub fn message(&self, id: &str) -> Option<OutputMessage> {
        self.lock_writer().state.get(id).cloned()
    }

    /// The ids of the messages that are open.
    pub fn open_messages(&self) -> Vec<String> {
        self.lock_writer().open_messages()
    }

    /// What the trace should warn of since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock_writer().warnings)
    }

    /// The turn's log.
    pub fn log(&self) -> StreamWriter {
        self.lock_writer().log.clone()
    }

    fn lock_writer(&self) -> MutexGuard<'_, MessageWriter> {
        lock(&self.0)
    }

    fn with<T>(&self, act: impl FnOnce(&mut MessageWriter) -> Result<T>) -> Result<T> {
        act(&mut self.lock_writer())
    }
}
