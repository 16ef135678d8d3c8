//! The turns of a chat, the newest first: what each began with, and what it has shown. What others have taken the place of is
//! left out.

use super::messages::{CHUNK, ChatMessageSearch, MessageFilter, PositionedMessage};
use crate::access::{Authorized, DataAccess};
use crate::chats::find::{self, ChatName, ReachableChat};
use crate::chats::message_view::{
    self, ChatHistoryFold, ChatMessageView, is_answer, is_input, is_sent_by_client,
};
use crate::chats::update;
use crate::error::Result;
use ambit_storage::Ambit;
use ambit_storage::storage::{Message, StorageSnapshot};
use indexmap::IndexMap;
use serde_json::Value;

/// A turn of a chat, or one message that was stored outside of any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatTurn {
    /// The turn; empty outside of any.
    pub request_id: String,
    /// The turn whose answer it continues.
    pub continues: Option<String>,
    /// The turn that has taken the place of its answer, which is left out then.
    pub superseded_by: Option<String>,
    /// What it began with: what people said, and results of tools that the client runs.
    pub input: Vec<TurnInput>,
    /// What it has shown, each message in its last state, and what people said meanwhile.
    pub shown: Vec<ChatMessageView>,
    /// Before which of the shown messages an agent's model was called, by their indexes.
    pub steps: Vec<usize>,
}

/// A message that a turn began with.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnInput {
    /// Its place in the chat.
    pub sequence: u64,
    /// The message as it is stored.
    pub message: Message,
}

impl ChatTurn {
    /// The turn whose answer its own is part of.
    pub fn answer_id(&self) -> &str {
        self.continues.as_deref().unwrap_or(&self.request_id)
    }
}

/// Reads the turns of a chat from its end.
pub struct ChatTurnReader {
    found: ReachableChat,
    stored: StorageSnapshot,
    /// Entries up to this one have not been read.
    end: u64,
}

impl ChatTurnReader {
    /// Opens a chat that the caller may read, in front of a sequence or at its end.
    pub async fn open(
        ambit: &Ambit,
        who: &Authorized,
        name: ChatName<'_>,
        before: Option<u64>,
    ) -> Result<Self> {
        let found = ReachableChat::at(ambit, find::row(ambit, who, name).await?).await?;
        let rights = DataAccess::of(who).ambit_for(ambit, &found.row);
        let stored = StorageSnapshot::archive(&rights, &found.row).await?;
        let last = before.map(|before| message_view::position(before).saturating_sub(1));
        let end = last.map_or(stored.count(), |last| last.min(stored.count()));
        Ok(Self { found, stored, end })
    }

    /// How many entries the chat has ever had since it was begun or cleared.
    pub fn count(&self) -> u64 {
        self.stored.count()
    }

    /// The id of the chat's row, which no other chat has.
    pub fn row_id(&self) -> &str {
        &self.found.row.id
    }

    /// The turn that the chat is busy with.
    pub async fn running(&self) -> Result<Option<String>> {
        let ReachableChat { driver, space, .. } = &self.found;
        let open = update::open_turns(driver.as_ref(), space, 1).await?;
        Ok(open.into_iter().next())
    }

    /// The turns in front of those read before, oldest first; none at the chat's beginning.
    pub async fn older(&mut self) -> Result<Vec<ChatTurn>> {
        let filter = MessageFilter::default();
        let search = ChatMessageSearch {
            found: &self.found,
            stored: &self.stored,
            filter: &filter,
        };
        while self.end > 0 {
            let start = self.end.saturating_sub(CHUNK);
            let start = search.begin_of_turn(start).await?;
            let count = self.end - start;
            let entries = search.read(start, count).await?;
            self.end = start;
            let turns = self.turns(entries.into_iter().flatten());
            if !turns.is_empty() {
                return Ok(turns);
            }
        }
        Ok(Vec::new())
    }

    fn turns(&self, entries: impl Iterator<Item = PositionedMessage>) -> Vec<ChatTurn> {
        let mut groups: IndexMap<String, Vec<PositionedMessage>> = IndexMap::new();
        for entry in entries {
            let own = entry.message.turn_id.clone();
            let key = own.unwrap_or_else(|| format!("\0{}", entry.position));
            groups.entry(key).or_default().push(entry);
        }
        groups
            .into_values()
            .map(|group| self.turn(&group))
            .collect()
    }

    fn turn(&self, entries: &[PositionedMessage]) -> ChatTurn {
        let identity = &self.found.row.identity;
        let mut fold = ChatHistoryFold {
            chat_id: identity.chat_name().unwrap_or_default(),
            agent: identity.agent_name(),
            superseded_by: None,
            shown: Vec::new(),
        };
        let mut turn = ChatTurn::default();
        for (at, entry) in entries.iter().enumerate() {
            let message = &entry.message;
            let sequence = message_view::sequence(entry.position);
            if at == 0 {
                turn.request_id = message.turn_id.clone().unwrap_or_default();
            }
            turn.continues = turn.continues.or_else(|| continues(message));
            if let Some(by) = &entry.superseded_by {
                turn.superseded_by = Some(by.clone());
                continue;
            }
            let is_result = message.tool_result.is_some();
            if is_input(message) || (is_result && is_sent_by_client(message)) {
                let message = message.clone();
                turn.input.push(TurnInput { sequence, message });
            } else {
                if is_answer(message) {
                    turn.steps.push(fold.shown.len());
                }
                fold.add(sequence, message);
            }
        }
        turn.shown = fold.shown;
        turn
    }
}

fn continues(message: &Message) -> Option<String> {
    let continues = message.extras.get("continues").and_then(Value::as_str);
    continues.map(str::to_owned)
}
