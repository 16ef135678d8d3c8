//! What a run's model is not told of the conversation, and why: for the manifests of its calls.

use super::Turn;
use super::conversation::Conversation;
use super::joined_answers::is_readable;
use crate::app::AppAgent;
use crate::chat::{BlockKind, ChatMessage, DroppedMessages, DroppedParts};
use crate::chat_message;
use crate::error::Result;
use crate::token_estimate::of_message;
use ambit_storage::storage::Message;
use ambit_storage::truncation::estimate;

/// The reasons of which each is given in more than one place.
pub(super) const HISTORY_SIZE: &str = "history_size";
pub(super) const NOT_FOR_MODEL: &str = "not_for_model";

/// What is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Omissions {
    /// Of the history's view; where the conversation is truncated, each call says it anew.
    pub view: Vec<DroppedParts>,
    /// All else.
    pub other: Vec<DroppedParts>,
}

impl Omissions {
    /// What the agent that was asked does not see. So many of the messages that were read are too old.
    pub fn of_conversation(turn: &Turn, old: usize, agent: &AppAgent) -> Result<Self> {
        let (context, conversation) = (&turn.context, &turn.conversation);
        let omitted = conversation.omitted;
        let mut other = Vec::new();
        let mut add = |kind: BlockKind, reason: &str, count: Option<u64>| {
            if count != Some(0) {
                other.push(DroppedParts::messages(kind, reason, count));
            }
        };
        if context.request.skip.history && !context.is_nested() {
            add(BlockKind::History, "skip.history", None);
        }
        add(BlockKind::History, "superseded", Some(omitted.superseded));
        let strategy = context.loaded.truncation(&agent.id)?;
        let reason = truncated_by(strategy.as_deref());
        add(BlockKind::History, &reason, Some(omitted.truncated));
        let repeated = context.request.repeated as u64;
        add(BlockKind::Request, "repeated", Some(repeated));
        Ok(Self {
            view: of_view(conversation, old, agent),
            other,
        })
    }

    /// All of it.
    pub fn all(&self) -> impl Iterator<Item = &DroppedParts> {
        self.view.iter().chain(&self.other)
    }
}

/// Why messages are missing that this strategy has cut.
pub(super) fn truncated_by(strategy: Option<&str>) -> String {
    format!("truncation:{}", strategy.unwrap_or("unknown"))
}

fn of_view(conversation: &Conversation, old: usize, agent: &AppAgent) -> Vec<DroppedParts> {
    let (old, shown) = conversation.history.split_at(old);
    let mut messages = DroppedMessages::default();
    if conversation.omitted.before > 0 {
        let count = Some(conversation.omitted.before);
        messages.add(DroppedParts::messages(
            BlockKind::History,
            HISTORY_SIZE,
            count,
        ));
    }
    for message in old {
        leave_out(&mut messages, HISTORY_SIZE, message);
    }
    note_unreadable(&mut messages, shown, agent);
    messages.into_parts()
}

/// Notes which of the stored messages are nothing for a model, or not for that of this agent.
pub(super) fn note_unreadable(
    messages: &mut DroppedMessages,
    stored: &[Message],
    agent: &AppAgent,
) {
    for message in stored {
        match is_readable(message, agent) && chat_message::is_for_models(message) {
            true => messages.keep(),
            false => leave_out(messages, NOT_FOR_MODEL, message),
        }
    }
}

/// Notes that a stored message is left out.
pub(super) fn leave_out(messages: &mut DroppedMessages, reason: &str, message: &Message) {
    let id = Some(message.id.as_str());
    messages.leave_out(BlockKind::History, reason, id, estimate(message));
}

/// Notes that a message is left out which a model could have been told.
pub(super) fn leave_out_chat(messages: &mut DroppedMessages, reason: &str, message: &ChatMessage) {
    let origin = &message.origin;
    let kind = origin.kind().unwrap_or(BlockKind::Request);
    messages.leave_out(kind, reason, origin.message_id(), of_message(message));
}
