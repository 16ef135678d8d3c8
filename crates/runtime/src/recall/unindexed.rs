//! Messages on their way into an index, or ranked beside it: their terms and where they stand, without their text.

use super::settings::RecallSettings;
use crate::chats::{
    CHUNK, ChatMessageSearch, ChatMessageView, MessageFilter, ReachableChat, open_turns, position,
};
use crate::error::Result;
use crate::text_terms::terms_of;
use ambit_search::terms::TermCounts;
use ambit_storage::Ambit;
use ambit_storage::address::digest;
use ambit_storage::directory::IndexRow;
use ambit_storage::storage::StorageSnapshot;
use serde::{Deserialize, Serialize};

/// More open turns than a conversation ever has.
const OPEN_TURNS: usize = 1_000;

/// Where a message stands, and what tells whether it still says the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessagePointer {
    #[serde(rename = "s")]
    pub sequence: u64,
    /// Of its text.
    #[serde(rename = "f")]
    pub fingerprint: String,
}

/// A message without its text.
#[derive(Clone, Debug)]
pub(super) struct UnindexedMessage {
    /// Which of the rows that are searched.
    pub row: usize,
    pub pointer: MessagePointer,
    pub terms: TermCounts,
    /// Of its text.
    pub bytes: usize,
}

impl MessagePointer {
    pub fn of(sequence: u64, text: &str) -> Self {
        let mut fingerprint = digest(&[text]);
        fingerprint.truncate(16);
        Self {
            sequence,
            fingerprint,
        }
    }
}

impl UnindexedMessage {
    /// The position of the entry that shows it.
    pub fn entry(&self) -> u64 {
        position(self.pointer.sequence)
    }
}

/// The messages of a conversation behind those that its index has.
pub(super) struct UnreadMessages<'a> {
    settings: &'a RecallSettings,
    row: usize,
    found: ReachableChat,
    stored: StorageSnapshot,
    /// The next entry is behind this one.
    at: u64,
    /// Up to here nothing changes any more but by an erasure.
    pub settled: u64,
    end: u64,
}

impl<'a> UnreadMessages<'a> {
    /// Those of the row at this place behind an entry.
    pub async fn behind(
        ambit: &Ambit,
        settings: &'a RecallSettings,
        row: usize,
        of: &IndexRow,
        at: u64,
    ) -> Result<Self> {
        let found = ReachableChat::at(ambit, of.clone()).await?;
        let stored = StorageSnapshot::archive(ambit, of).await?;
        let end = stored.count();
        // Read behind the end: a turn that is not open by now has left its messages as they stay.
        let open = open_turns(found.driver.as_ref(), &found.space, OPEN_TURNS).await?;
        let filter = MessageFilter::default();
        let search = ChatMessageSearch {
            found: &found,
            stored: &stored,
            filter: &filter,
        };
        let settled = search.settled(&open, end).await?.max(at.min(end));
        Ok(Self {
            settings,
            row,
            found,
            stored,
            at,
            settled,
            end,
        })
    }

    /// How far it was read.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next ones; `None` at the end. What is settled comes apart from what is not.
    pub async fn next(&mut self) -> Result<Option<Vec<UnindexedMessage>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let stop = match self.at < self.settled {
            true => self.settled,
            false => self.end,
        };
        let (start, end) = (self.at, stop.min(self.at + CHUNK));
        self.at = end;
        // What was superseded may be shown again, and is not found as long as it is not.
        let filter = MessageFilter {
            superseded: true,
            ..MessageFilter::default()
        };
        let search = ChatMessageSearch {
            found: &self.found,
            stored: &self.stored,
            filter: &filter,
        };
        let shown = search.window(start, end).await?;
        let message = |shown: &ChatMessageView| {
            let text = self.settings.text_of(shown)?;
            Some(UnindexedMessage {
                row: self.row,
                pointer: MessagePointer::of(shown.sequence, &text),
                terms: terms_of(&text),
                bytes: text.len(),
            })
        };
        Ok(Some(shown.iter().filter_map(message).collect()))
    }
}
