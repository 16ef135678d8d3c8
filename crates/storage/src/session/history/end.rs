//! The end of a history, and how much of it is not there.

use super::{ChatHistoryStorage, SupersededHistory};
use crate::Result;
use crate::items::{ViewEnd, to_usize};
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

/// Messages that are read at once at least, where some of the last ones were erased.
const PAGE: usize = 200;

impl ChatHistoryStorage {
    /// The last messages of the view, in order, and how many there are beside. Those that were erased are passed over.
    pub async fn end(&self, limit: usize) -> Result<HistoryEnd> {
        let session = self.session()?;
        let end = self.cell().end(session.tenant(), limit).await;
        self.end_of(session.seen(end)?, limit).await
    }

    /// The last messages of a view. What is missing among its last items because it was erased is read from in front of them.
    async fn end_of(&self, end: ViewEnd, limit: usize) -> Result<HistoryEnd> {
        let session = self.session()?;
        let ViewEnd {
            view,
            mut before,
            mut items,
        } = end;
        let mut messages: Vec<Message> = Vec::new();
        loop {
            while messages.len() < limit
                && let Some(item) = items.pop()
            {
                let message: Message = session.seen(item.body.to())?;
                if !message.is_erased() {
                    messages.push(message);
                }
            }
            let missing = limit - messages.len();
            if missing == 0 || before == 0 {
                break;
            }
            let step = missing.max(PAGE).min(to_usize(before));
            before -= step as u64;
            items = self.read_view(&view, before, step).await?;
        }
        messages.reverse();
        let omitted = OmittedMessages {
            before: before + items.len() as u64,
            truncated: view.truncated(),
            superseded: view.superseded(),
        };
        Ok(HistoryEnd { messages, omitted })
    }
}

impl SupersededHistory {
    /// The last messages that are left, in order, and how many there are beside.
    pub async fn end(&self, limit: usize) -> Result<HistoryEnd> {
        let end = ViewEnd {
            view: self.view.clone(),
            before: self.count(),
            items: Vec::new(),
        };
        self.history.end_of(end, limit).await
    }
}
