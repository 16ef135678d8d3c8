//! The stored messages of a conversation, or its first or last ones, each with what it shows, but for those whose place a later
//! turn has taken.

use crate::access::{Authorized, DataAccess};
use crate::chats::find::ReachableChat;
use crate::chats::message_view::{self, ChatHistoryFold, ChatMessageView};
use crate::chats::open::row_for;
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnKeys;
use ambit_storage::driver::ValuePart;
use ambit_storage::storage::{Message, StorageSnapshot};
use ambit_storage::{Ambit, Json};
use std::collections::HashMap;

/// Messages read in one go.
const PAGE: u64 = 100;
/// As many bytes of messages are held at once.
const MOST_BYTES: usize = 64 << 20;
/// Messages of a part of a conversation, where a page of it is wanted.
const PART: u64 = 200;
/// A larger part has so many times the messages.
const GROWTH: u64 = 4;

/// Which messages of a conversation are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRange {
    /// All of them.
    All,
    /// So many from the beginning on, superseded ones included.
    First(u64),
    /// So many up to the end, superseded ones included.
    Last(u64),
}

impl EntryRange {
    /// A part at the beginning.
    pub const BEGINNING: Self = Self::First(PART);
    /// A part at the end.
    pub const END: Self = Self::Last(PART);

    /// A part with more messages.
    pub fn larger(self) -> Self {
        match self {
            Self::All => Self::All,
            Self::First(most) => Self::First(most.saturating_mul(GROWTH)),
            Self::Last(most) => Self::Last(most.saturating_mul(GROWTH)),
        }
    }

    /// The same of a conversation with this many messages.
    fn within(self, count: u64) -> Self {
        match self {
            Self::First(most) | Self::Last(most) if most >= count => Self::All,
            range => range,
        }
    }

    /// The positions, behind the first up to the second.
    fn positions(self, count: u64) -> (u64, u64) {
        match self {
            Self::All => (0, count),
            Self::First(most) => (0, most),
            Self::Last(most) => (count - most, count),
        }
    }
}

/// A stored message.
#[derive(Clone, Debug)]
pub struct ChatEntry {
    /// The message.
    pub message: Message,
    /// What it shows, each message in its last state.
    pub shown: Vec<ChatMessageView>,
}

/// The messages of a conversation.
pub struct ChatEntries {
    /// The messages, oldest first.
    pub entries: Vec<ChatEntry>,
    /// Which messages were read.
    pub range: EntryRange,
    found: ReachableChat,
}

impl ChatEntries {
    /// Those of the history with this row, if the caller may use its conversation.
    pub async fn read(
        ambit: &Ambit,
        who: &Authorized,
        row: &str,
        range: EntryRange,
    ) -> Result<Self> {
        let found = ReachableChat::at(ambit, row_for(ambit, who, row).await?).await?;
        Self::of(ambit, who, found, range).await
    }

    /// Those of a conversation that the caller was found to reach.
    pub(crate) async fn of(
        ambit: &Ambit,
        who: &Authorized,
        found: ReachableChat,
        range: EntryRange,
    ) -> Result<Self> {
        let rights = DataAccess::of(who).system(ambit);
        let stored = StorageSnapshot::archive(&rights, &found.row).await?;
        let identity = &found.row.identity;
        let mut fold = ChatHistoryFold {
            chat_id: identity.chat_name().unwrap_or_default(),
            agent: identity.agent_name(),
            superseded_by: None,
            shown: Vec::new(),
        };
        let range = range.within(stored.count());
        let (mut position, end) = range.positions(stored.count());
        let (mut messages, mut bytes) = (Vec::new(), 0);
        while position < end {
            let count = usize::try_from(PAGE.min(end - position)).unwrap_or_default();
            let page = stored.after(position, count).await?;
            let Some(last) = page.last() else {
                break;
            };
            position = last.position;
            for item in page.iter().filter(|item| item.superseded_by.is_none()) {
                bytes += item.body.as_str().len();
                if bytes > MOST_BYTES {
                    return Err(too_large());
                }
                if let Some(message) = message_view::parse(item)? {
                    fold.add(message_view::sequence(item.position), &message);
                    messages.push((item.position, message));
                }
            }
        }
        let mut shown: HashMap<u64, Vec<ChatMessageView>> = HashMap::new();
        for view in fold.shown {
            let of = message_view::position(view.sequence);
            shown.entry(of).or_default().push(view);
        }
        let entries = messages.into_iter().map(|(position, message)| ChatEntry {
            shown: shown.remove(&position).unwrap_or_default(),
            message,
        });
        Ok(Self {
            entries: entries.collect(),
            range,
            found,
        })
    }

    /// The turn of which messages may be missing, and with them changes of those that are here.
    pub fn cut_turn(&self) -> Option<&str> {
        let messages = || self.entries.iter().map(|entry| &entry.message);
        let of_turn = |message: &&Message| message.turn_id.is_some();
        let cut = match self.range {
            EntryRange::All => None,
            EntryRange::First(_) => messages().rfind(of_turn),
            EntryRange::Last(_) => messages()
                .find(of_turn)
                .filter(|message| !message_view::is_first_of_turn(message)),
        };
        cut.and_then(|message| message.turn_id.as_deref())
    }

    /// The agent that it belongs to.
    pub fn agent_name(&self) -> &str {
        self.found.row.identity.agent_name()
    }

    /// What the protocol of its client has to know of a turn of the conversation.
    pub async fn protocol_record(&self, turn: &str) -> Result<Option<Json>> {
        let keys = TurnKeys::new(self.found.space.clone(), turn);
        let key = keys.protocol_record();
        let entry = self.found.driver.get(&key, ValuePart::Whole).await?;
        Ok(entry.map(|entry| entry.value))
    }
}

fn too_large() -> Error {
    let message = format!(
        "the messages of this conversation have more than {MOST_BYTES} bytes, and are not read as items any more; read them in pages with GET /chat/sessions/:chat_id/messages"
    );
    let mut error = Error::new(ErrorCode::LimitExceeded, message);
    error.status = Some(413);
    error
}
