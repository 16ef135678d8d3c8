//! Changing a message that has begun: the state first, then the frame that says so.

use super::delta::{TextDelta, escaped};
use super::lifecycle::MessageEnd;
use super::message_writer::{MessageWriter, frame_of};
use crate::error::{Error, ErrorCode, Result};
use crate::frame::change::{self, ChangeError, MessageProps};
use crate::frame::props_path::PropsPath;
use crate::frame::{DeltaAction, Frame, MessageStatus};
use serde_json::Value;

pub(super) enum MessageChange {
    /// A text, an item or a list of items, and where.
    Append(Value, PropsPath),
    /// New props, and a new type if there is one.
    Replace(MessageProps, Option<String>),
    Merge(MessageProps, PropsPath),
    Set(Value, PropsPath),
}

impl MessageChange {
    fn size(&self) -> usize {
        match self {
            Self::Append(Value::String(text), _) => escaped(text).len(),
            Self::Append(value, path) | Self::Set(value, path) => {
                size(value) + path.as_str().len() + 8
            }
            Self::Replace(props, _) => size(props),
            Self::Merge(props, path) => size(props) + path.as_str().len() + 8,
        }
    }

    fn apply(&self, props: &mut MessageProps) -> Result<(), ChangeError> {
        match self {
            Self::Append(value, path) => change::append(props, path, value.clone()),
            Self::Merge(value, path) => change::merge(props, path, value.clone()),
            Self::Set(value, path) => change::set(props, path, value.clone()),
            Self::Replace(value, _) => {
                props.clone_from(value);
                Ok(())
            }
        }
    }

    /// The same with a list of the text where a text goes to a list, as every other item is carried.
    fn listed(self, props: &MessageProps) -> Self {
        let is_list = |path: &PropsPath| value_at(path, props).is_some_and(Value::is_array);
        match self {
            Self::Append(text @ Value::String(_), path) if is_list(&path) => {
                Self::Append(Value::Array(vec![text]), path)
            }
            other => other,
        }
    }

    /// The frame that makes this change for a client.
    fn fill(self, frame: &mut Frame) {
        let written = |path: &PropsPath| (!path.is_whole()).then(|| path.as_str().to_owned());
        frame.delta = true;
        match self {
            Self::Append(value, path) => {
                let is_plain = value.is_string() && path.as_str() == "content";
                frame.delta_action = (!is_plain).then_some(DeltaAction::Append);
                frame.delta_path = if is_plain { None } else { written(&path) };
                frame.props = path.props_with(items(value));
            }
            Self::Replace(props, kind) => {
                frame.delta_action = Some(DeltaAction::Replace);
                frame.type_change = kind.is_some();
                frame.props = props;
            }
            Self::Merge(props, path) => {
                frame.delta_action = Some(DeltaAction::Merge);
                frame.delta_path = written(&path);
                frame.props = path.props_with(Value::Object(props));
            }
            Self::Set(value, path) => {
                frame.delta_action = Some(DeltaAction::Set);
                frame.delta_path = written(&path);
                frame.props = path.props_with(value);
            }
        }
    }
}

/// What a frame that appends carries: a text or a list.
fn items(value: Value) -> Value {
    match value {
        value @ (Value::String(_) | Value::Array(_)) => value,
        item => Value::Array(vec![item]),
    }
}

/// The value at a path of a message, where lists are lists.
pub(super) fn value_at<'a>(path: &PropsPath, props: &'a MessageProps) -> Option<&'a Value> {
    let (first, rest) = path.steps().split_first()?;
    rest.iter()
        .try_fold(props.get(first)?, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        })
}

/// The bytes of a value as JSON.
pub(super) fn size<T: serde::Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

impl MessageWriter {
    /// Changes a message. One that has ended is amended. The method is whom a refusal names.
    pub fn change(&mut self, method: &str, id: &str, change: MessageChange) -> Result<()> {
        self.check_running()?;
        let (Some(meta), Some(message)) = (self.meta.get(id), self.state.get(id)) else {
            return Err(unknown(method, id));
        };
        let (is_open, is_silent) = (meta.is_open, meta.is_silent);
        let change = change.listed(&message.props);
        self.apply(method, id, &change)?;
        if is_silent {
            return Ok(());
        }
        if !is_open {
            self.warn_amended(id);
        }
        if self.log.is_full() {
            self.fall_behind(id);
            return Ok(());
        }
        if is_open {
            self.put_change(id, change);
            return Ok(());
        }
        self.announce(id, true);
        self.put_change(id, change);
        self.close_amendment(id);
        Ok(())
    }

    /// Adds text to a message that is open: what models do most.
    pub fn say(&mut self, id: &str, path: &PropsPath, text: &str) -> Result<()> {
        let value = || MessageChange::Append(text.into(), path.clone());
        let Some(meta) = self.meta.get(id) else {
            return Err(unknown("Append", id));
        };
        let more = escaped(text);
        let has_room = meta.size + more.len() <= self.limits.message;
        let tail = match &meta.tail {
            Some((number, tail)) if has_room && tail == path.as_str() => *number,
            _ => return self.change("Append", id, value()),
        };
        let is_text = self
            .state
            .get(id)
            .is_some_and(|message| path.carried(&message.props).is_some_and(Value::is_string));
        if !is_text || self.log.is_full() || self.is_ended {
            return self.change("Append", id, value());
        }
        self.check_output(more.len())?;
        self.bytes += more.len();
        if let Some(meta) = self.meta.get_mut(id) {
            meta.size += more.len();
        }
        if let Some(message) = self.state.get_mut(id) {
            let _ = change::append(&mut message.props, path, text.into());
        }
        if !self.log.extend(tail, &more) {
            self.put_text(id, path, &more);
        }
        Ok(())
    }

    fn apply(&mut self, method: &str, id: &str, change: &MessageChange) -> Result<()> {
        let size = self.size_after(method, id, change)?;
        if size > self.limits.message {
            return Err(too_large(self.limits.message));
        }
        let added = change.size();
        self.check_output(added)?;
        let (Some(meta), Some(message)) = (self.meta.get_mut(id), self.state.get_mut(id)) else {
            return Err(unknown(method, id));
        };
        let changed = change.apply(&mut message.props);
        changed.map_err(|problem| refused(method, &problem))?;
        if let MessageChange::Replace(_, Some(kind)) = change {
            message.kind.clone_from(kind);
        }
        meta.size = size;
        self.bytes += added;
        Ok(())
    }

    /// At least the bytes that the props have behind a change; just these where more would be too many.
    fn size_after(&self, method: &str, id: &str, change: &MessageChange) -> Result<usize> {
        let (Some(meta), Some(message)) = (self.meta.get(id), self.state.get(id)) else {
            return Err(unknown(method, id));
        };
        let size = match change {
            MessageChange::Replace(..) => change.size(),
            _ => meta.size + change.size(),
        };
        if size <= self.limits.message {
            return Ok(size);
        }
        // The sum counts what was replaced too.
        let mut props = message.props.clone();
        let changed = change.apply(&mut props);
        changed.map_err(|problem| refused(method, &problem))?;
        Ok(self::size(&props))
    }

    fn put_change(&mut self, id: &str, change: MessageChange) {
        if let MessageChange::Append(Value::String(text), path) = &change {
            return self.put_text(id, path, &escaped(text));
        }
        let chunk_id = self.chunk_id(id);
        let Some(message) = self.state.get(id) else {
            return;
        };
        let mut frame = frame_of(message);
        frame.chunk_id = Some(chunk_id);
        change.fill(&mut frame);
        self.put(&frame);
        if let Some(meta) = self.meta.get_mut(id) {
            meta.tail = None;
            meta.kind = frame.kind;
        }
    }

    fn put_text(&mut self, id: &str, path: &PropsPath, more: &str) {
        let chunk_id = self.chunk_id(id);
        let Some(message) = self.state.get(id) else {
            return;
        };
        let is_plain = path.as_str() == "content";
        let delta = TextDelta {
            kind: &message.kind,
            chunk_id: &chunk_id,
            message_id: id,
            block_id: message.block_id.as_deref(),
            thread_id: message.thread_id.as_deref(),
            delta: true,
            delta_path: (!is_plain).then_some(path.as_str()),
            delta_action: (!is_plain).then_some("append"),
        };
        let (mut text, close) = delta.around(path);
        text.push_str(more);
        let number = self.log.append_open(text, close);
        if let Some(meta) = self.meta.get_mut(id) {
            meta.tail = Some((number, path.as_str().to_owned()));
        }
    }

    /// Ends the amendment of a message that had ended before.
    fn close_amendment(&mut self, id: &str) {
        let status = self.state.get(id).and_then(|message| message.status);
        let mut end = MessageEnd::of(status.unwrap_or(MessageStatus::Completed));
        end.is_amendment = true;
        self.close(id, end);
    }

    /// The log is full: what changes is shown once, when the message ends.
    fn fall_behind(&mut self, id: &str) {
        if let Some(meta) = self.meta.get_mut(id) {
            meta.is_behind = true;
            meta.tail = None;
        }
    }

    /// Shows a message as it is, if its frames have fallen behind.
    pub fn catch_up(&mut self, id: &str) {
        let (Some(meta), Some(message)) = (self.meta.get_mut(id), self.state.get(id)) else {
            return;
        };
        if !std::mem::take(&mut meta.is_behind) {
            return;
        }
        let is_open = meta.is_open;
        let kind = (meta.kind != message.kind).then(|| message.kind.clone());
        let change = MessageChange::Replace(message.props.clone(), kind);
        if is_open {
            return self.put_change(id, change);
        }
        self.announce(id, true);
        self.put_change(id, change);
        self.close_amendment(id);
    }

    /// Whether a warning of this message was given before.
    pub fn set_warned(&mut self, id: &str, has_warned: bool) -> bool {
        let meta = self.meta.get_mut(id);
        meta.is_some_and(|meta| std::mem::replace(&mut meta.has_warned, has_warned))
    }

    fn warn_amended(&mut self, id: &str) {
        if !self.set_warned(id, true) {
            let warning = format!("message {id} was changed after its end");
            self.warnings.push(warning);
        }
    }
}

pub(super) fn unknown(method: &str, id: &str) -> Error {
    let what = format!("{method}: unknown message \"{id}\"");
    Error::new(ErrorCode::InvalidArgument, what)
}

pub(super) fn too_large(limit: usize) -> Error {
    let what = format!("message exceeds {limit} bytes");
    Error::new(ErrorCode::OutputLimit, what)
}

fn refused(method: &str, problem: &ChangeError) -> Error {
    Error::new(ErrorCode::InvalidArgument, format!("{method}: {problem}"))
}
