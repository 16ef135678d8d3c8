//! Blocks and threads: they begin with the first message, and threads with the first event, that stands in them.

use super::message_writer::MessageWriter;
use crate::frame::MessageStatus;
use ambit_storage::clock::Millis;
use serde_json::{Map, Value};

/// A block or a thread.
#[derive(Clone, Debug)]
pub(super) struct MessageGroup {
    pub id: String,
    /// `mixed` for those of scripts, `agent` for a fork's thread.
    pub kind: String,
    pub label: Option<String>,
    /// The agent that speaks in a fork's thread.
    pub assistant_id: Option<String>,
    /// The thread that a thread comes from, or in which a block stands.
    pub parent: Option<String>,
    /// The message that shows the call of the tool whose script has begun a thread.
    pub call_message: Option<String>,
    pub started: Option<Millis>,
    pub is_open: bool,
    /// Messages of a block, blocks of a thread.
    pub count: u64,
}

impl MessageGroup {
    pub fn new(id: &str, kind: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
            label: None,
            assistant_id: None,
            parent: None,
            call_message: None,
            started: None,
            is_open: false,
            count: 0,
        }
    }
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    Block,
    Thread,
}

impl GroupKind {
    fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Thread => "thread",
        }
    }
}

impl MessageWriter {
    pub fn groups(&mut self, level: GroupKind) -> &mut Vec<MessageGroup> {
        match level {
            GroupKind::Block => &mut self.blocks,
            GroupKind::Thread => &mut self.threads,
        }
    }

    fn group(&mut self, level: GroupKind, id: &str) -> &mut MessageGroup {
        let groups = self.groups(level);
        let index = groups.iter().position(|group| group.id == id);
        let index = index.unwrap_or_else(|| {
            groups.push(MessageGroup::new(id, "mixed"));
            groups.len() - 1
        });
        &mut groups[index]
    }

    /// Sees to it that a message can stand in this thread and block.
    pub fn enter(&mut self, thread: Option<&str>, block: Option<&str>) {
        if let Some(thread) = thread {
            self.begin_group(GroupKind::Thread, thread);
        }
        let Some(block) = block else {
            return;
        };
        if self.begin_group(GroupKind::Block, block) {
            self.group(GroupKind::Block, block).parent = thread.map(ToOwned::to_owned);
            if let Some(thread) = thread {
                self.group(GroupKind::Thread, thread).count += 1;
            }
        }
        self.group(GroupKind::Block, block).count += 1;
    }

    /// Sees to it that a thread has begun before an event names it; one that has ended is not begun again.
    pub fn begin_thread(&mut self, thread: &str) {
        if self.group(GroupKind::Thread, thread).started.is_none() {
            self.begin_group(GroupKind::Thread, thread);
        }
    }

    /// True where it was not open.
    fn begin_group(&mut self, level: GroupKind, id: &str) -> bool {
        let now = self.clock.now();
        let group = self.group(level, id);
        if group.is_open {
            return false;
        }
        let is_again = group.started.is_some();
        group.is_open = true;
        group.started = Some(now);
        let mut data = Map::new();
        data.insert(format!("{}_id", level.name()), id.into());
        data.insert("type".to_owned(), group.kind.clone().into());
        data.insert("timestamp".to_owned(), now.into());
        if let Some(label) = &group.label {
            data.insert("label".to_owned(), label.clone().into());
        }
        if let Some(assistant_id) = &group.assistant_id {
            data.insert("assistant_id".to_owned(), assistant_id.clone().into());
        }
        if let (GroupKind::Thread, Some(parent)) = (level, &group.parent) {
            data.insert("parent_thread_id".to_owned(), parent.clone().into());
        }
        if let Some(message) = &group.call_message {
            data.insert("call_message_id".to_owned(), message.clone().into());
        }
        if is_again && level == GroupKind::Block {
            data.insert("amend".to_owned(), true.into());
        }
        self.emit(&format!("{}_start", level.name()), Value::Object(data));
        true
    }

    /// Ends a block or a thread; one that is not open stays as it is.
    pub fn end_group(&mut self, level: GroupKind, id: &str, status: MessageStatus) {
        let now = self.clock.now();
        let groups = self.groups(level).iter_mut();
        let Some(group) = groups
            .into_iter()
            .find(|group| group.id == id && group.is_open)
        else {
            return;
        };
        group.is_open = false;
        let counted = match level {
            GroupKind::Block => "message_count",
            GroupKind::Thread => "block_count",
        };
        let mut data = Map::new();
        data.insert(format!("{}_id", level.name()), id.into());
        data.insert("type".to_owned(), group.kind.clone().into());
        data.insert("timestamp".to_owned(), now.into());
        let duration = now - group.started.unwrap_or(now);
        data.insert("duration_ms".to_owned(), duration.max(0).into());
        data.insert(counted.to_owned(), group.count.into());
        data.insert("status".to_owned(), status.as_str().into());
        self.emit(&format!("{}_end", level.name()), Value::Object(data));
    }

    /// The blocks of this thread, or all blocks and threads, that are open.
    pub fn open_groups(&mut self, level: GroupKind, thread: Option<&str>) -> Vec<String> {
        let is_wanted = |group: &&MessageGroup| {
            group.is_open && thread.is_none_or(|thread| group.parent.as_deref() == Some(thread))
        };
        let groups = self.groups(level).iter().filter(is_wanted);
        groups.map(|group| group.id.clone()).collect()
    }
}
