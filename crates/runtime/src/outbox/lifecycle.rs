//! How messages begin and end.

use super::group::GroupKind;
use super::message_writer::{MessageMeta, MessageWriter, ToolCallStart};
use crate::frame::{MessageStatus, OutputMessage};
use ambit_storage::clock::Millis;
use serde::Serialize;
use serde_json::{Value, json};

/// How a message ends.
#[derive(Clone, Copy)]
pub(super) struct MessageEnd {
    pub status: MessageStatus,
    pub is_amendment: bool,
    pub is_automatic: bool,
}

impl MessageEnd {
    pub fn of(status: MessageStatus) -> Self {
        Self {
            status,
            is_amendment: false,
            is_automatic: false,
        }
    }
}

/// What `message_start` and `message_end` say.
#[derive(Serialize)]
struct MessageEvent<'a> {
    message_id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<ToolCallEvent<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    amend: bool,
    #[serde(flatten)]
    end: Option<MessageEndFields>,
    #[serde(skip_serializing_if = "MessageEventExtra::is_empty")]
    extra: MessageEventExtra<'a>,
}

#[derive(Serialize)]
struct ToolCallEvent<'a> {
    #[serde(flatten)]
    call: &'a ToolCallStart,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
}

/// What `message_end` alone says.
#[derive(Serialize)]
struct MessageEndFields {
    duration_ms: Millis,
    chunk_count: u64,
    status: MessageStatus,
}

#[derive(Default, PartialEq, Serialize)]
struct MessageEventExtra<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    assistant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    auto_ended: bool,
}

impl MessageEventExtra<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl<'a> MessageEvent<'a> {
    fn start(message: &'a OutputMessage, meta: &'a MessageMeta, now: Millis) -> Self {
        Self {
            message_id: &message.message_id,
            kind: &message.kind,
            timestamp: now,
            block_id: message.block_id.as_deref(),
            thread_id: message.thread_id.as_deref(),
            tool_call: meta.tool_call.as_ref().map(|call| ToolCallEvent {
                call,
                arguments: None,
            }),
            amend: false,
            end: None,
            extra: MessageEventExtra {
                assistant_id: meta.assistant_id.as_deref(),
                ..MessageEventExtra::default()
            },
        }
    }

    /// The same at the message's end, with what it says as a whole.
    fn ended(mut self, message: &'a OutputMessage, meta: &MessageMeta, end: &MessageEnd) -> Self {
        let prop = |name: &str| message.props.get(name);
        if let Some(call) = &mut self.tool_call {
            call.arguments = Some(prop("arguments").cloned().unwrap_or_default());
        }
        if matches!(message.kind.as_str(), "text" | "thinking") {
            self.extra.content = prop("content").and_then(Value::as_str);
        }
        self.extra.auto_ended = end.is_automatic;
        self.amend = end.is_amendment;
        self.end = Some(MessageEndFields {
            duration_ms: (self.timestamp - meta.started).max(0),
            chunk_count: meta.chunks,
            status: end.status,
        });
        self
    }
}

impl MessageWriter {
    /// `message_start`.
    pub fn announce(&mut self, id: &str, is_amendment: bool) {
        let now = self.clock.now();
        let (Some(meta), Some(message)) = (self.meta.get_mut(id), self.state.get_mut(id)) else {
            return;
        };
        meta.started = now;
        meta.chunks = 0;
        meta.tail = None;
        message.amended |= is_amendment;
        if meta.is_silent {
            return;
        }
        let mut event = MessageEvent::start(message, meta, now);
        event.amend = is_amendment;
        let event = json!(event);
        self.emit("message_start", event);
    }

    /// `message_end`, and before it what a full log has kept back.
    pub fn close(&mut self, id: &str, end: MessageEnd) {
        self.catch_up(id);
        let now = self.clock.now();
        let (Some(meta), Some(message)) = (self.meta.get_mut(id), self.state.get_mut(id)) else {
            return;
        };
        meta.is_open = false;
        meta.tail = None;
        message.status = Some(end.status);
        if meta.is_silent {
            return;
        }
        let event = json!(MessageEvent::start(message, meta, now).ended(message, meta, &end));
        self.emit("message_end", event);
    }

    /// Ends a message if it is open.
    pub fn close_open(&mut self, id: &str, status: MessageStatus) {
        if self.meta.get(id).is_some_and(|meta| meta.is_open) {
            self.close(id, MessageEnd::of(status));
        }
    }

    pub fn open_messages(&self) -> Vec<String> {
        let messages = self.state.messages().iter();
        let ids = messages.map(|message| &message.message_id);
        let is_open = |id: &&String| self.meta.get(*id).is_some_and(|meta| meta.is_open);
        ids.filter(is_open).cloned().collect()
    }

    pub fn close_all(&mut self, status: MessageStatus, auto_ended: bool) {
        for id in self.open_messages() {
            if !self.is_silent(&id) {
                self.warnings.push(format!("message {id} was left open"));
            }
            let mut end = MessageEnd::of(status);
            end.is_automatic = auto_ended;
            self.close(&id, end);
        }
        let messages = self.state.messages().iter();
        let ids: Vec<String> = messages.map(|it| it.message_id.clone()).collect();
        for id in ids {
            self.catch_up(&id);
        }
        for level in [GroupKind::Block, GroupKind::Thread] {
            for id in self.open_groups(level, None) {
                if level == GroupKind::Block {
                    self.warnings.push(format!("block {id} was left open"));
                }
                self.end_group(level, &id, status);
            }
        }
    }
}
