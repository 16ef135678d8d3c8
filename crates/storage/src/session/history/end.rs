//! The end of a history, and how much of it is not there.

use super::{ChatHistoryStorage, SupersededHistory};
use crate::Result;
use crate::items::{LogView, ViewItem};
use crate::message::Message;

/// The last messages of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryEnd {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// What is not among them.
    pub omitted: OmittedMessages,
}

/// How many messages of a conversation are not among its last ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedMessages {
    /// The view has them in front.
    pub before: u64,
    /// Truncation has left them out of the view.
    pub truncated: u64,
    /// A turn has taken their place.
    pub superseded: u64,
}

impl ChatHistoryStorage {
    /// The last messages of the view, in order, and how many there are beside; it reads what `tail` reads.
    pub async fn end(&self, limit: usize) -> Result<HistoryEnd> {
        let session = self.session()?;
        let (view, items) = session.seen(self.cell().end(session.tenant(), limit).await)?;
        session.seen(HistoryEnd::of(&view, &items))
    }
}

impl SupersededHistory {
    /// The last messages that are left, in order, and how many there are beside.
    pub async fn end(&self, limit: usize) -> Result<HistoryEnd> {
        let from = self.count().saturating_sub(limit as u64);
        let items = self.history.read_view(&self.view, from, limit).await?;
        HistoryEnd::of(&self.view, &items)
    }
}

impl HistoryEnd {
    fn of(view: &LogView, items: &[ViewItem]) -> Result<Self> {
        let messages = items.iter().map(|item| item.body.to::<Message>());
        let omitted = OmittedMessages {
            before: view.count().saturating_sub(items.len() as u64),
            truncated: view.truncated(),
            superseded: view.superseded(),
        };
        Ok(Self {
            messages: messages.collect::<Result<_>>()?,
            omitted,
        })
    }
}
