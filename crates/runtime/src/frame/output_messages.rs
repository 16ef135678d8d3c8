//! What a client holds that has applied every frame. The stored messages of a turn are the same.

use super::change::{self, ChangeError, MessageProps};
use super::props_path::PropsPath;
use super::turn_event::{MessageStartEvent, TurnEvent};
use super::{DeltaAction, Frame};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A message as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputMessage {
    /// Its id in the turn.
    pub message_id: String,
    /// Its type.
    pub kind: String,
    /// Its content.
    pub props: MessageProps,
    /// The block it stands in.
    pub block_id: Option<String>,
    /// The thread it stands in.
    pub thread_id: Option<String>,
    /// How it ended; `None` while it is open.
    pub status: Option<MessageStatus>,
    /// Whether it was changed after its end.
    pub amended: bool,
    /// The agent that said it.
    pub assistant_id: String,
    /// What a script gave with it.
    pub metadata: Option<Map<String, Value>>,
    /// Its place among the messages of the turn, from 0.
    pub order: usize,
}

/// How a message, a block or a thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// As it should.
    Completed,
    /// Cut short.
    Partial,
    /// By a failure.
    Error,
}

impl MessageStatus {
    /// As it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Error => "error",
        }
    }

    /// From its JSON text.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Completed, Self::Partial, Self::Error]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// The messages of a turn, in the order of their beginning.
#[derive(Clone, Debug, Default)]
pub struct OutputMessages {
    messages: Vec<OutputMessage>,
    indexes: HashMap<String, usize>,
    assistant: String,
}

impl PartialEq for OutputMessages {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
}

impl OutputMessages {
    /// The messages.
    pub fn messages(&self) -> &[OutputMessage] {
        &self.messages
    }

    /// A message.
    pub fn get(&self, id: &str) -> Option<&OutputMessage> {
        self.messages.get(*self.indexes.get(id)?)
    }

    /// A message, to be changed.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut OutputMessage> {
        self.messages.get_mut(*self.indexes.get(id)?)
    }

    /// A message; a new one if there is none with this id.
    pub fn get_or_new(&mut self, id: &str, kind: &str) -> &mut OutputMessage {
        let index = match self.indexes.get(id) {
            Some(index) => *index,
            None => {
                self.indexes.insert(id.to_owned(), self.messages.len());
                self.messages.push(OutputMessage {
                    message_id: id.to_owned(),
                    kind: kind.to_owned(),
                    assistant_id: self.assistant.clone(),
                    order: self.messages.len(),
                    ..OutputMessage::default()
                });
                self.messages.len() - 1
            }
        };
        &mut self.messages[index]
    }

    /// The agent of the turn, as `stream_start` names it.
    pub fn assistant(&self) -> &str {
        &self.assistant
    }

    /// Applies an event.
    pub fn apply_event(&mut self, event: &TurnEvent<'_>) {
        match event {
            TurnEvent::StreamStart(start) => {
                let assistant = start.assistant_id.unwrap_or_default();
                assistant.clone_into(&mut self.assistant);
            }
            TurnEvent::MessageStart(start) => self.begin(start),
            TurnEvent::MessageEnd { message_id, status } => {
                if let Some(message) = self.get_mut(message_id) {
                    message.status = *status;
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, start: &MessageStartEvent<'_>) {
        let message = self.get_or_new(start.message_id, start.kind.unwrap_or_default());
        message.amended |= start.is_amendment;
        if start.is_amendment {
            return;
        }
        message.block_id = start.block_id.map(ToOwned::to_owned);
        message.thread_id = start.thread_id.map(ToOwned::to_owned);
        if let Some(assistant) = start.assistant_id {
            assistant.clone_into(&mut message.assistant_id);
        }
    }
}

/// What the messages of type `text` say, a line for each.
pub fn text_of<'m>(messages: impl IntoIterator<Item = &'m OutputMessage>) -> String {
    let said = messages.into_iter();
    let said = said.filter(|message| message.kind == "text");
    let said: Vec<&str> = said
        .filter_map(|message| message.props.get("content")?.as_str())
        .collect();
    said.join("\n")
}

/// The one rule of a client: what a frame makes of the messages it holds.
pub fn apply(state: &mut OutputMessages, frame: &Frame) -> Result<(), ChangeError> {
    if let Some(event) = TurnEvent::read(frame) {
        state.apply_event(&event);
        return Ok(());
    }
    let Some(id) = &frame.message_id else {
        return Ok(());
    };
    let message = state.get_or_new(id, &frame.kind);
    if frame.delta {
        return apply_delta(message, frame);
    }
    message.kind.clone_from(&frame.kind);
    message.props.clone_from(&frame.props);
    message.block_id.clone_from(&frame.block_id);
    message.thread_id.clone_from(&frame.thread_id);
    message.metadata.clone_from(&frame.metadata);
    Ok(())
}

fn apply_delta(message: &mut OutputMessage, frame: &Frame) -> Result<(), ChangeError> {
    let action = frame.delta_action.unwrap_or(DeltaAction::Append);
    let content = PropsPath::key("content");
    let path = match (&frame.delta_path, action) {
        (Some(path), _) => PropsPath::parse(path).unwrap_or_default(),
        (None, DeltaAction::Append) => content,
        (None, _) => PropsPath::default(),
    };
    let carried = || path.carried(&frame.props).cloned();
    match action {
        DeltaAction::Append => match carried() {
            Some(value) => change::append(&mut message.props, &path, value),
            None => Ok(()),
        },
        DeltaAction::Replace => {
            message.props.clone_from(&frame.props);
            message.kind.clone_from(&frame.kind);
            Ok(())
        }
        DeltaAction::Merge if path.is_whole() => {
            change::merge(&mut message.props, &path, frame.props.clone())
        }
        DeltaAction::Merge => match carried() {
            Some(Value::Object(value)) => change::merge(&mut message.props, &path, value),
            _ => Ok(()),
        },
        DeltaAction::Set if path.is_whole() => {
            message.props.clone_from(&frame.props);
            Ok(())
        }
        DeltaAction::Set => {
            change::set(&mut message.props, &path, carried().unwrap_or(Value::Null))
        }
    }
}
