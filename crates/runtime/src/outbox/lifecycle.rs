//! How messages begin and end.

use super::group::GroupKind;
use super::message_writer::MessageWriter;
use crate::frame::{MessageStatus, OutputMessage};
use ambit_storage::clock::Millis;
use serde_json::{Map, Value};

/// How a message ends.
pub(super) struct MessageEnd {
    pub status: MessageStatus,
    pub is_amendment: bool,
    pub is_automatic: bool,
    pub further: Map<String, Value>,
}

impl MessageEnd {
    pub fn of(status: MessageStatus) -> Self {
        Self {
            status,
            is_amendment: false,
            is_automatic: false,
            further: Map::new(),
        }
    }

    fn automatic(status: MessageStatus, is_automatic: bool) -> Self {
        Self {
            is_automatic,
            ..Self::of(status)
        }
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
        let mut data = about(message, now);
        data.extend(meta.start.clone());
        if is_amendment {
            data.insert("amend".to_owned(), true.into());
        }
        self.emit("message_start", Value::Object(data));
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
        let mut data = about(message, now);
        data.extend(meta.start.clone());
        if end.is_amendment {
            data.insert("amend".to_owned(), true.into());
        }
        let duration = (now - meta.started).max(0);
        data.insert("duration_ms".to_owned(), duration.into());
        data.insert("chunk_count".to_owned(), meta.chunks.into());
        data.insert("status".to_owned(), end.status.as_str().into());
        let mut extra = match data.remove("extra") {
            Some(Value::Object(extra)) => extra,
            _ => Map::new(),
        };
        let has_text = matches!(message.kind.as_str(), "text" | "thinking");
        if let (true, Some(content @ Value::String(_))) = (has_text, message.props.get("content")) {
            extra.insert("content".to_owned(), content.clone());
        }
        if end.is_automatic {
            extra.insert("auto_ended".to_owned(), true.into());
        }
        if let Some(Value::Object(call)) = data.get_mut("tool_call") {
            let arguments = message.props.get("arguments").cloned();
            call.insert("arguments".to_owned(), arguments.unwrap_or_default());
        }
        data.extend(end.further);
        if !extra.is_empty() {
            data.insert("extra".to_owned(), Value::Object(extra));
        }
        self.emit("message_end", Value::Object(data));
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
            self.close(&id, MessageEnd::automatic(status, auto_ended));
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

fn about(message: &OutputMessage, now: Millis) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("message_id".to_owned(), message.message_id.clone().into());
    data.insert("type".to_owned(), message.kind.clone().into());
    data.insert("timestamp".to_owned(), now.into());
    let places = [
        ("block_id", &message.block_id),
        ("thread_id", &message.thread_id),
    ];
    for (name, id) in places {
        if let Some(id) = id {
            data.insert(name.to_owned(), id.clone().into());
        }
    }
    data
}
