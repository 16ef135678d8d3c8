//! The messages of a chat, in pages. They are the originals: what truncation hides from the model is still shown.

use crate::access::{Authorized, DataAccess};
use crate::chats::find::{self, ChatName, ReachableChat};
use crate::chats::message_view::{self, ChatHistoryFold, ChatMessageView};
use crate::error::{Error, Result};
use ambit_storage::Ambit;
use ambit_storage::storage::{Message, StorageSnapshot, StoredItem};
use serde::Serialize;
use utoipa::ToSchema;

/// Entries read in one go.
pub(crate) const CHUNK: u64 = 200;

/// Which messages of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Only those before this sequence.
    pub before: Option<u64>,
    /// Only those behind this sequence; the first of them are given instead of the last.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: usize,
    /// Only those of this role, `user` or `assistant`.
    pub role: Option<String>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those of this turn.
    pub request_id: Option<String>,
    /// Those too whose place a later turn has taken.
    pub superseded: bool,
}

/// Messages, oldest first, and where to go on in the same direction: as `after` if that was given, else as `before`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChatMessagePage {
    /// The messages.
    pub items: Vec<ChatMessageView>,
    /// Where the next ones are; nothing where there are none.
    pub next: Option<u64>,
}

/// The last messages of a chat, or those before or behind one.
pub async fn messages(
    ambit: &Ambit,
    who: &Authorized,
    name: ChatName<'_>,
    filter: &MessageFilter,
) -> Result<ChatMessagePage> {
    filter.check()?;
    let found = ReachableChat::at(ambit, find::row(ambit, who, name).await?).await?;
    let rights = DataAccess::of(who).ambit_for(ambit, &found.row);
    let stored = StorageSnapshot::archive(&rights, &found.row).await?;
    let look = ChatMessageSearch {
        found: &found,
        stored: &stored,
        filter,
    };
    match filter.after {
        Some(after) => look.forward(after).await,
        None => look.backward().await,
    }
}

impl MessageFilter {
    /// Refuses what nothing can match.
    pub(crate) fn check(&self) -> Result<()> {
        if let (Some(after), Some(before)) = (self.after, self.before)
            && before <= after
        {
            let message = format!("before is {before}, which leaves nothing behind after, {after}");
            return Err(Error::invalid("before", message));
        }
        if let Some(role) = &self.role {
            let roles = [("user", ()), ("assistant", ())];
            super::details::choose("role", role, &roles)?;
        }
        Ok(())
    }
}

/// Reads the messages of a chat that are wanted, as they are shown.
pub(crate) struct ChatMessageSearch<'a> {
    pub found: &'a ReachableChat,
    pub stored: &'a StorageSnapshot,
    pub filter: &'a MessageFilter,
}

/// A stored message, and which entry of the history it is, from 1.
pub(super) struct PositionedMessage {
    pub position: u64,
    /// The turn that has taken its place.
    pub superseded_by: Option<String>,
    pub message: Message,
}

impl ChatMessageSearch<'_> {
    async fn forward(&self, after: u64) -> Result<ChatMessagePage> {
        let (limit, last) = (self.filter.limit, self.last());
        let mut start = message_view::position(after).saturating_sub(1).min(last);
        let mut items = Vec::new();
        while start < last && items.len() <= limit {
            let end = (start + CHUNK).min(last);
            items.extend(self.window(start, end).await?);
            start = end;
        }
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().map(|shown| shown.sequence);
        Ok(ChatMessagePage {
            items,
            next: next.filter(|_| has_more),
        })
    }

    async fn backward(&self) -> Result<ChatMessagePage> {
        let limit = self.filter.limit;
        let mut end = self.last();
        let mut items: Vec<ChatMessageView> = Vec::new();
        while end > 0 && items.len() <= limit {
            let start = end.saturating_sub(CHUNK);
            let mut window = self.window(start, end).await?;
            window.append(&mut items);
            items = window;
            end = start;
        }
        let has_more = items.len() > limit;
        items.drain(..items.len().saturating_sub(limit));
        let next = items.first().map(|shown| shown.sequence);
        Ok(ChatMessagePage {
            items,
            next: next.filter(|_| has_more),
        })
    }

    /// The position of the last entry that may be wanted.
    fn last(&self) -> u64 {
        let count = self.stored.count();
        let before = self.filter.before.map(message_view::position);
        before.map_or(count, |before| before.min(count))
    }

    /// The message of this sequence, if it is there and wanted.
    pub async fn at(&self, sequence: u64) -> Result<Option<ChatMessageView>> {
        let position = message_view::position(sequence);
        if position == 0 || position > self.stored.count() {
            return Ok(None);
        }
        let shown = self.window(position - 1, position).await?;
        Ok(shown.into_iter().find(|shown| shown.sequence == sequence))
    }

    /// How many of the entries are behind all that an open turn may still change; `open` are such turns.
    pub async fn settled(&self, open: &[String], mut end: u64) -> Result<u64> {
        let is_open = |found: &Option<PositionedMessage>| {
            let turn = found.as_ref().map(|found| found.message.turn_id.as_ref());
            turn.flatten().is_none_or(|turn| open.contains(turn))
        };
        while !open.is_empty() && end > 0 {
            let from = end.saturating_sub(CHUNK);
            let before = self.read(from, end - from).await?;
            let count = before.iter().rev().take_while(|one| is_open(one)).count();
            end -= count as u64;
            if end > from {
                break;
            }
        }
        Ok(end)
    }

    /// What is wanted of the messages that begin behind the entry at `start`, up to the one at `end`.
    pub async fn window(&self, start: u64, end: u64) -> Result<Vec<ChatMessageView>> {
        let identity = &self.found.row.identity;
        let mut fold = ChatHistoryFold {
            chat_id: identity.chat_name().unwrap_or_default(),
            agent: identity.agent_name(),
            superseded_by: None,
            shown: Vec::new(),
        };
        for entry in self.whole_turns(start, end).await? {
            if entry.superseded_by.is_none() || self.filter.superseded {
                fold.superseded_by = entry.superseded_by;
                fold.add(message_view::sequence(entry.position), &entry.message);
            }
        }
        let inside = message_view::sequence(start + 1)..message_view::sequence(end + 1);
        fold.shown
            .retain(|shown| inside.contains(&shown.sequence) && self.wants(shown));
        Ok(fold.shown)
    }

    /// The entries behind `start` up to `end`, with all of the turns that the first and the last belong to: they may have
    /// results and changes.
    async fn whole_turns(&self, start: u64, end: u64) -> Result<Vec<PositionedMessage>> {
        let mut position = self.begin_of_turn(start).await?;
        let (mut entries, mut turn) = (Vec::new(), None);
        loop {
            let count = match position < end {
                true => (end - position).min(CHUNK),
                false => CHUNK,
            };
            let page = self.read(position, count).await?;
            if page.is_empty() {
                return Ok(entries);
            }
            for found in page {
                position += 1;
                let Some(found) = found else {
                    continue;
                };
                // What others put into a running turn belongs to no turn, and does not end it.
                let own = &found.message.turn_id;
                let is_other = own.is_some() && *own != turn;
                if position > end && (turn.is_none() || is_other) {
                    return Ok(entries);
                }
                turn = own.clone().or(turn);
                entries.push(found);
            }
        }
    }

    /// The position before the first entry of the turn that the entry behind `start` is in the middle of: a change of a
    /// message stands where the message was first.
    pub(super) async fn begin_of_turn(&self, start: u64) -> Result<u64> {
        let first = self.read(start, 1).await?.pop().flatten();
        let Some(turn) = first.and_then(|found| found.message.turn_id) else {
            return Ok(start);
        };
        let mut begin = start;
        while begin > 0 {
            let from = begin.saturating_sub(CHUNK);
            let before = self.read(from, begin - from).await?;
            let is_same = |found: &Option<PositionedMessage>| {
                let of = found.as_ref().map(|found| found.message.turn_id.as_ref());
                of.is_none_or(|of| of == Some(&turn))
            };
            let same = before.iter().rev().take_while(|found| is_same(found));
            let same = same.count() as u64;
            begin -= same;
            if begin > from {
                break;
            }
        }
        Ok(begin)
    }

    pub(super) async fn read(
        &self,
        after: u64,
        count: u64,
    ) -> Result<Vec<Option<PositionedMessage>>> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let items = self.stored.after(after, count).await?;
        let found = |item: StoredItem| {
            let message = message_view::parse(&item)?;
            Ok(message.map(|message| PositionedMessage {
                position: item.position,
                superseded_by: item.superseded_by,
                message,
            }))
        };
        items.into_iter().map(found).collect()
    }

    fn wants(&self, shown: &ChatMessageView) -> bool {
        let filter = self.filter;
        filter.before.is_none_or(|before| shown.sequence < before)
            && filter.after.is_none_or(|after| shown.sequence > after)
            && filter.role.as_ref().is_none_or(|role| shown.role == role)
            && filter.kind.as_ref().is_none_or(|kind| shown.kind == *kind)
            && filter
                .request_id
                .as_ref()
                .is_none_or(|request| shown.request_id == *request)
    }
}
