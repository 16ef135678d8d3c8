//! An outbox after a crash: everything it knew is in the frames that were stored.

use super::group::{GroupKind, MessageGroup};
use super::message_writer::{MessageMeta, MessageWriter, ToolCallStart};
use super::{Outbox, OutboxLimits, change};
use crate::error::{Error, Result};
use crate::frame::{Frame, apply};
use crate::stream::{StreamEntry, StreamWriter};
use ambit_storage::clock::Clock;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

impl Outbox {
    /// The messages of a turn that goes on: its log, and what is stored of it.
    pub fn restore(
        log: StreamWriter,
        limits: OutboxLimits,
        clock: Clock,
        entries: &[StreamEntry],
    ) -> Result<Self> {
        let mut writer = MessageWriter::new(log, limits, clock);
        for entry in entries {
            let frame: Frame = serde_json::from_str(&entry.text).map_err(|error| {
                let number = entry.number;
                Error::internal(format!("entry {number} of the stream is no frame: {error}"))
            })?;
            writer.remember(&frame);
        }
        Ok(Self(Arc::new(Mutex::new(writer))))
    }
}

impl MessageWriter {
    fn remember(&mut self, frame: &Frame) {
        // What was sent was accepted; a frame that cannot be applied changes nothing here nor at any client.
        let _ = apply(&mut self.state, frame);
        if let (Some(name), Some(data)) = (frame.event_name(), frame.event_data()) {
            return self.remember_event(name, data);
        }
        self.count_up(3, "C", frame.chunk_id.as_deref());
        let size = change::size(&frame.props);
        self.bytes += size;
        let id = frame.message_id.as_deref().unwrap_or_default();
        if let Some(meta) = self.meta.get_mut(id) {
            meta.chunks += 1;
            meta.size += size;
        }
    }

    fn remember_event(&mut self, name: &str, data: &Map<String, Value>) {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let id = |key: &str| text(key).unwrap_or_default();
        match name {
            "message_start" => {
                self.remember_place(text("thread_id"), text("block_id"), data);
                let id = id("message_id");
                self.count_up(0, "M", Some(id));
                let meta = self.meta.entry(id.to_owned()).or_default();
                let call = data.get("tool_call").map(ToolCallStart::deserialize);
                let assistant_id = data
                    .get("extra")
                    .and_then(|extra| extra.get("assistant_id"));
                *meta = MessageMeta {
                    is_open: true,
                    started: time(data),
                    size: meta.size,
                    kind: text("type").unwrap_or_default().to_owned(),
                    tool_call: call.and_then(Result::ok),
                    assistant_id: assistant_id.and_then(Value::as_str).map(str::to_owned),
                    ..MessageMeta::default()
                };
            }
            "message_end" => {
                if let Some(meta) = self.meta.get_mut(id("message_id")) {
                    meta.is_open = false;
                }
            }
            "block_start" => self.remember_group(GroupKind::Block, id("block_id"), data),
            "thread_start" => self.remember_group(GroupKind::Thread, id("thread_id"), data),
            "block_end" => self.close_remembered(GroupKind::Block, id("block_id")),
            "thread_end" => self.close_remembered(GroupKind::Thread, id("thread_id")),
            "stream_end" => self.is_ended = true,
            _ => {}
        }
    }

    /// A message has begun in this thread and block.
    fn remember_place(
        &mut self,
        thread: Option<&str>,
        block: Option<&str>,
        data: &Map<String, Value>,
    ) {
        let is_new = data.get("amend").is_none();
        let block = self
            .blocks
            .iter_mut()
            .find(|it| Some(it.id.as_str()) == block);
        let Some(block) = block.filter(|_| is_new) else {
            return;
        };
        let is_first = block.count == 0;
        block.count += 1;
        block.parent = thread.map(ToOwned::to_owned);
        let thread = self
            .threads
            .iter_mut()
            .find(|it| Some(it.id.as_str()) == thread);
        if let (Some(thread), true) = (thread, is_first) {
            thread.count += 1;
        }
    }

    fn remember_group(&mut self, level: GroupKind, id: &str, data: &Map<String, Value>) {
        let text = |key: &str| data.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        match level {
            GroupKind::Block => self.count_up(1, "B", Some(id)),
            GroupKind::Thread => self.count_up(2, "T", Some(id)),
        }
        let mut group = MessageGroup::new(id, "mixed");
        group.kind = text("type").unwrap_or(group.kind);
        group.label = text("label");
        group.assistant_id = text("assistant_id");
        group.parent = text("parent_thread_id");
        group.call_message = text("call_message_id");
        group.started = Some(time(data));
        group.is_open = true;
        let groups = self.groups(level);
        groups.retain(|known| known.id != id);
        groups.push(group);
    }

    fn close_remembered(&mut self, level: GroupKind, id: &str) {
        let group = self.groups(level).iter_mut().find(|group| group.id == id);
        if let Some(group) = group {
            group.is_open = false;
        }
    }

    /// Ids up to this one are not given out again.
    fn count_up(&mut self, which: usize, letter: &str, id: Option<&str>) {
        let number = id.and_then(|id| id.strip_prefix(letter)?.parse::<u32>().ok());
        self.counters[which].fetch_max(number.unwrap_or(0).into(), Ordering::Relaxed);
    }
}

fn time(data: &Map<String, Value>) -> i64 {
    data.get("timestamp").and_then(Value::as_i64).unwrap_or(0)
}
