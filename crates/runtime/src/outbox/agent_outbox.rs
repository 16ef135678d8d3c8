//! The messaging methods of `ctx`, and what model and tools say.

use super::change::{MessageChange, unknown};
use super::draft::{self, MessageDraft, invalid};
use super::group::{GroupKind, MessageGroup};
use super::lifecycle::MessageEnd;
use super::message_writer::{MessageStart, MessageWriter, ToolCallStart};
use super::{MessageAuthor, Outbox};
use crate::error::Result;
use crate::frame::change::MessageProps;
use crate::frame::props_path::PropsPath;
use crate::frame::{Frame, MessageStatus};
use serde_json::Value;

/// What one agent says in one thread. Methods named as in `ctx` take the arguments as a script gave them.
#[derive(Clone)]
pub struct AgentOutbox {
    outbox: Outbox,
    author: MessageAuthor,
}

impl AgentOutbox {
    pub(super) fn new(outbox: Outbox, author: MessageAuthor) -> Self {
        Self { outbox, author }
    }

    /// The turn's outbox.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Who speaks.
    pub fn author(&self) -> &MessageAuthor {
        &self.author
    }

    /// A thread of its own below this one: a forked call. It begins with the first message or event that stands in it.
    pub fn fork(&self, label: &str, assistant_id: &str, is_silent: bool) -> Self {
        let mut writer = self.outbox.lock_writer();
        let thread = writer.thread_id();
        let mut group = MessageGroup::new(&thread, "agent");
        group.label = (!label.is_empty()).then(|| label.to_owned());
        group.assistant_id = Some(assistant_id.to_owned());
        group.parent.clone_from(&self.author.thread);
        group.call_message.clone_from(&self.author.call_message);
        writer.threads.push(group);
        drop(writer);
        let author = MessageAuthor {
            thread: Some(thread),
            call_message: None,
            is_silent: is_silent || self.author.is_silent,
            assistant_id: assistant_id.to_owned(),
        };
        Self::new(self.outbox.clone(), author)
    }

    /// The same for the script of a tool whose call this message shows.
    pub fn for_call(mut self, message: Option<&str>) -> Self {
        self.author.call_message = message.map(str::to_owned);
        self
    }

    /// Ends what a fork has left open, and its thread.
    pub fn end_thread(&self, status: MessageStatus) {
        if let Some(thread) = &self.author.thread {
            self.outbox.lock_writer().end_thread(thread, status);
        }
    }

    /// Emits an event of the runtime for what this agent does; nothing where nobody sees the agent.
    pub fn emit(&self, name: &str, data: Value) {
        if !self.author.is_silent {
            self.outbox.emit(name, data);
        }
    }

    /// `ctx.Send(message, block_id?)`.
    pub fn send(&self, arguments: &[Value]) -> Result<Value> {
        let id = self.start("Send", arguments)?;
        if let Some(id) = id.as_str().filter(|id| !id.is_empty()) {
            self.outbox
                .lock_writer()
                .close(id, MessageEnd::of(MessageStatus::Completed));
        }
        Ok(id)
    }

    /// `ctx.SendStream(message, block_id?)`.
    pub fn send_stream(&self, arguments: &[Value]) -> Result<Value> {
        self.start("SendStream", arguments)
    }

    fn start(&self, method: &str, arguments: &[Value]) -> Result<Value> {
        self.outbox.with(|writer| {
            let draft = MessageDraft::of_arguments(method, arguments, writer.limits.message)?;
            if draft.kind == "event" {
                return writer.event(&self.author, draft);
            }
            writer.send(&self.author, draft).map(Value::from)
        })
    }

    /// `ctx.Append(id, content, path?)`.
    pub fn append(&self, arguments: &[Value]) -> Result<Value> {
        let [id, content, rest @ ..] = arguments else {
            return Err(invalid("Append requires messageId and content arguments"));
        };
        let path = draft::path(rest.first())?;
        let path = path.unwrap_or_else(|| PropsPath::key("content"));
        self.change("Append", id, |_| draft::change("Append", content, path))
    }

    /// `ctx.Replace(id, message)`.
    pub fn replace(&self, arguments: &[Value]) -> Result<Value> {
        let [id, message, ..] = arguments else {
            return Err(invalid("Replace requires messageId and message arguments"));
        };
        self.change("Replace", id, |now| {
            let (props, kind) = draft::replacement(message)?;
            Ok(MessageChange::Replace(
                props,
                kind.filter(|kind| kind != now),
            ))
        })
    }

    /// `ctx.Merge(id, data, path?)`.
    pub fn merge(&self, arguments: &[Value]) -> Result<Value> {
        let [id, data, rest @ ..] = arguments else {
            return Err(invalid("Merge requires messageId and data arguments"));
        };
        let path = draft::path(rest.first())?.unwrap_or_default();
        self.change("Merge", id, |_| draft::change("Merge", data, path))
    }

    /// `ctx.Set(id, value, path)`.
    pub fn set(&self, arguments: &[Value]) -> Result<Value> {
        let [id, value, path, ..] = arguments else {
            return Err(invalid("Set requires messageId, data, and path arguments"));
        };
        let Some(path) = draft::path(Some(path))? else {
            return Err(invalid("path cannot be empty for Set operation"));
        };
        self.change("Set", id, |_| draft::change("Set", value, path))
    }

    /// Makes a change of a message; what makes it is told the message's type.
    fn change(
        &self,
        method: &str,
        id: &Value,
        change: impl FnOnce(&str) -> Result<MessageChange>,
    ) -> Result<Value> {
        let name = draft::message_id(id)?;
        self.outbox.with(|writer| {
            let message = writer
                .state
                .get(name)
                .ok_or_else(|| unknown(method, name))?;
            let change = change(&message.kind)?;
            if !self.author.is_silent || writer.is_silent(name) {
                writer.change(method, name, change)?;
            }
            Ok(id.clone())
        })
    }

    /// `ctx.MessageEnd(id, final_content?)`.
    pub fn end(&self, arguments: &[Value]) -> Result<Value> {
        let [id, rest @ ..] = arguments else {
            return Err(invalid("End requires a messageId argument"));
        };
        let name = draft::message_id(id)?;
        let content = draft::final_content(rest.first())?;
        self.outbox.with(|writer| {
            writer.check_running()?;
            if !writer.meta.contains_key(name) {
                return Err(unknown("End", name));
            }
            if self.author.is_silent && !writer.is_silent(name) {
                return Ok(id.clone());
            }
            if let Some(content) = content {
                let change = MessageChange::Append(content.into(), PropsPath::key("content"));
                writer.change("End", name, change)?;
            }
            writer.close_open(name, MessageStatus::Completed);
            Ok(id.clone())
        })
    }

    /// `ctx.EndBlock(block_id)`.
    pub fn end_block(&self, arguments: &[Value]) -> Result<Value> {
        let Some(id) = arguments.first() else {
            return Err(invalid("EndBlock requires block_id argument"));
        };
        if let (Some(id), false) = (draft::id("block_id", Some(id))?, self.author.is_silent) {
            let mut writer = self.outbox.lock_writer();
            writer.end_group(GroupKind::Block, &id, MessageStatus::Completed);
        }
        Ok(Value::Null)
    }

    /// `ctx.MessageID()`.
    pub fn message_id(&self) -> String {
        self.outbox.lock_writer().message_id()
    }

    /// `ctx.BlockID()`.
    pub fn block_id(&self) -> String {
        self.outbox.lock_writer().block_id()
    }

    /// `ctx.ThreadID()`.
    pub fn thread_id(&self) -> String {
        self.outbox.lock_writer().thread_id()
    }

    /// Begins a message of the runtime without content: a model's text or thinking.
    pub fn begin(&self, kind: &str) -> Result<String> {
        let start = MessageStart::of_kind(kind);
        self.outbox.with(|writer| writer.open(&self.author, start))
    }

    /// Begins the message in which a call of a tool is shown.
    pub fn begin_tool_call(&self, call: ToolCallStart) -> Result<String> {
        let start = MessageStart {
            tool_call: Some(call),
            ..MessageStart::of_kind("tool_call")
        };
        self.outbox.with(|writer| writer.open(&self.author, start))
    }

    /// Adds to the `content` of a message that was begun.
    pub fn say(&self, id: &str, text: &str) -> Result<()> {
        self.say_at(id, &PropsPath::key("content"), text)
    }

    /// Adds to a text of a message that was begun: `arguments` of a tool call.
    pub fn say_at(&self, id: &str, path: &PropsPath, text: &str) -> Result<()> {
        self.outbox.with(|writer| writer.say(id, path, text))
    }

    /// Merges into the props of a message; one that has ended is amended, without a warning.
    pub fn update(&self, id: &str, props: MessageProps) -> Result<()> {
        let change = MessageChange::Merge(props, PropsPath::default());
        self.amend("Merge", id, change)
    }

    /// Puts one of the props of a message; one that has ended is amended, without a warning.
    pub fn put(&self, id: &str, name: &str, value: Value) -> Result<()> {
        self.amend("Set", id, MessageChange::Set(value, PropsPath::key(name)))
    }

    fn amend(&self, method: &str, id: &str, change: MessageChange) -> Result<()> {
        self.outbox.with(|writer| {
            let had_warned = writer.set_warned(id, true);
            let done = writer.change(method, id, change);
            writer.set_warned(id, had_warned);
            done
        })
    }

    /// Ends a message that was begun. One that has ended stays as it is.
    pub fn finish(&self, id: &str, status: MessageStatus) {
        self.outbox.lock_writer().close_open(id, status);
    }

    /// Shows a whole message of the runtime, such as the `error` of a failed turn. Limits do not count for it.
    pub fn show(&self, kind: &str, props: MessageProps) -> Result<String> {
        self.outbox.with(|writer| {
            let limits = writer.limits;
            writer.limits.messages = usize::MAX;
            let opened = writer.open(&self.author, MessageStart::of_kind(kind));
            writer.limits = limits;
            let id = opened?;
            writer.put_whole(&id, props);
            writer.close(&id, MessageEnd::of(MessageStatus::Completed));
            Ok(id)
        })
    }
}

impl MessageWriter {
    fn send(&mut self, author: &MessageAuthor, draft: MessageDraft) -> Result<String> {
        self.check_running()?;
        let size = super::change::size(&draft.props);
        self.check_output(size)?;
        let start = MessageStart {
            id: draft.message_id,
            kind: draft.kind,
            block: draft.block_id,
            thread: draft.thread_id,
            metadata: draft.metadata,
            tool_call: None,
        };
        let id = self.open(author, start)?;
        self.bytes += size;
        if let Some(meta) = self.meta.get_mut(&id) {
            meta.size = size;
        }
        self.put_whole(&id, draft.props);
        Ok(id)
    }

    /// A script's own event: sent as it is, and never a message.
    fn event(&mut self, author: &MessageAuthor, draft: MessageDraft) -> Result<Value> {
        self.check_running()?;
        draft.check_event()?;
        let size = super::change::size(&draft.props);
        self.check_output(size)?;
        self.bytes += size;
        if !author.is_silent {
            let thread_id = draft.thread_id.or_else(|| author.thread.clone());
            if let Some(thread) = &thread_id {
                self.begin_thread(thread);
            }
            self.put(&Frame {
                kind: draft.kind,
                props: draft.props,
                message_id: draft.message_id,
                block_id: draft.block_id,
                thread_id,
                metadata: draft.metadata,
                ..Frame::default()
            });
        }
        Ok(Value::from(""))
    }

    fn end_thread(&mut self, thread: &str, status: MessageStatus) {
        for id in self.open_messages() {
            let message = self.state.get(&id);
            if message.is_some_and(|message| message.thread_id.as_deref() == Some(thread)) {
                self.close(&id, MessageEnd::of(status));
            }
        }
        for block in self.open_groups(GroupKind::Block, Some(thread)) {
            self.end_group(GroupKind::Block, &block, status);
        }
        self.end_group(GroupKind::Thread, thread, status);
    }
}
