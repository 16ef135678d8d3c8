//! A conversation as a whole: every stored message with what it shows, but for those whose place a later turn has taken.

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
const PAGE: usize = 100;
/// As many bytes of messages are held at once.
const MOST_BYTES: usize = 64 << 20;

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
    found: ReachableChat,
}

impl ChatEntries {
    /// Those of the history with this row, if the caller may use its conversation.
    pub async fn read(ambit: &Ambit, who: &Authorized, row: &str) -> Result<Self> {
        let found = ReachableChat::at(ambit, row_for(ambit, who, row).await?).await?;
        Self::of(ambit, who, found).await
    }

    /// Those of a conversation that the caller was found to reach.
    pub(crate) async fn of(ambit: &Ambit, who: &Authorized, found: ReachableChat) -> Result<Self> {
        let rights = DataAccess::of(who).system(ambit);
        let stored = StorageSnapshot::archive(&rights, &found.row).await?;
        let identity = &found.row.identity;
        let mut fold = ChatHistoryFold {
            chat_id: identity.chat_name().unwrap_or_default(),
            agent: identity.agent_name(),
            superseded_by: None,
            shown: Vec::new(),
        };
        let (mut messages, mut position, mut bytes) = (Vec::new(), 0, 0);
        loop {
            let page = stored.after(position, PAGE).await?;
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
            found,
        })
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
