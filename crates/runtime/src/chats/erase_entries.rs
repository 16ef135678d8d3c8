//! Erasing single entries of a conversation, and whole turns of it: from history and archive, and from all that turns have left
//! of them.

use crate::access::Authorized;
use crate::chats::conversations::opened;
use crate::chats::details::{self, TITLE_KEY};
use crate::chats::entries::{ChatEntries, ChatEntry};
use crate::chats::update::check_idle;
use crate::error::{Error, Result};
use crate::journal::TurnKeys;
use crate::turn_info::TurnInfo;
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::Millis;
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use ambit_storage::storage::{Message, MessageErasure};
use ambit_storage::{Ambit, Json};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is erased of a conversation.
#[derive(Clone, Copy, Debug)]
pub enum EntrySelection<'a> {
    /// A stored message.
    Message(&'a str),
    /// What a stored message shows under an id of its turn's stream, and no other part of it.
    Shown {
        /// The stored message.
        message: &'a str,
        /// What it shows.
        shown: &'a str,
    },
    /// All messages of a turn, and what is known of it.
    Turn(&'a str),
}

/// Erases part of the conversation of a history's row. While a turn of it runs, that is refused as busy.
pub async fn erase(
    ambit: &Ambit,
    who: &Authorized,
    chat: &ChatEntries,
    selection: EntrySelection<'_>,
) -> Result<()> {
    let row = chat.row();
    check_idle(ambit, row).await?;
    let first = chat.entries.iter().position(|entry| selection.is_in(entry));
    let first = first.ok_or_else(|| Error::not_found("item", &row.id))?;
    let erased: Vec<&ChatEntry> = chat
        .entries
        .iter()
        .filter(|entry| selection.is_in(entry) || selection.is_result(entry, &chat.entries))
        .collect();
    let ids: Vec<&str> = erased
        .iter()
        .map(|entry| entry.message.id.as_str())
        .collect();
    let space = Space::of(&row.tenant, &row.identity);
    let mut writes = forget_turns(&space, &chat.entries[first..], selection);
    if let EntrySelection::Message(_) | EntrySelection::Shown { .. } = selection {
        let now = ambit.stores().options().clock.now();
        let turns = erased
            .iter()
            .filter_map(|entry| entry.message.turn_id.as_deref());
        for turn in turns.collect::<BTreeSet<_>>() {
            writes.extend(without_response(chat, &space, turn, now).await?);
        }
    }
    let is_title = |entry: &&ChatEntry| details::is_title(chat.title(), &entry.message.text());
    if erased.iter().any(is_title) {
        writes.push(BatchWrite::Apply {
            key: space.key(TITLE_KEY),
            op: Operation::Del,
            life: None,
        });
    }
    let session = opened(ambit, who, &row.id).await?;
    let erasure = MessageErasure {
        message_ids: &ids,
        remainder: |message: &Message| selection.remainder(message),
        writes,
    };
    session.history().erase_with(erasure).await?;
    Ok(())
}

impl EntrySelection<'_> {
    /// Whether an entry goes, or a part of it.
    fn is_in(&self, entry: &ChatEntry) -> bool {
        match self {
            Self::Message(id) | Self::Shown { message: id, .. } => entry.message.id == *id,
            Self::Turn(turn) => entry.message.turn_id.as_deref() == Some(turn),
        }
    }

    /// Whether an entry is the server's result of a call that goes, or the second half of an item that does.
    fn is_result(&self, entry: &ChatEntry, all: &[ChatEntry]) -> bool {
        let Some(result) = &entry.message.tool_result else {
            return false;
        };
        let Some(calling) = all.iter().find(|calling| self.is_in(calling)) else {
            return false;
        };
        let calling = &calling.message;
        let is_own = calling.turn_id == entry.message.turn_id;
        let client = |message: &Message| message.extras.get("client").cloned();
        match self {
            Self::Turn(_) => false,
            Self::Message(_) => {
                let id = client(calling).and_then(|client| client.get("id").cloned());
                let half = client(&entry.message).filter(|client| client.get("item").is_none());
                let other = half.and_then(|client| client.get("id").cloned());
                is_own && id.is_some() && id == other
            }
            Self::Shown { shown, .. } => {
                let call = view(calling, shown).and_then(|view| view.get("call"));
                let is_sent = client(&entry.message).is_some();
                is_own && !is_sent && call.is_some_and(|call| *call == result.call_id)
            }
        }
    }

    /// What is left of a message.
    fn remainder(&self, message: &Message) -> Option<Message> {
        let Self::Shown { message: id, shown } = self else {
            return None;
        };
        if message.id != *id {
            return None;
        }
        let mut left = message.clone();
        let view = view(message, shown)?.clone();
        let kind = view.get("type").and_then(Value::as_str);
        match (kind, view.get("call")) {
            (Some("tool_call"), call) => {
                left.tool_calls
                    .retain(|own| call.is_none_or(|call| *call != own.id));
            }
            (Some("thinking"), _) => {
                for name in ["reasoning_content", "reasoning_parts"] {
                    left.extras.shift_remove(name);
                }
            }
            _ => {
                left.parts.clear();
                left.extras.shift_remove("refusal");
            }
        }
        let Some(Value::Array(views)) = left.extras.get_mut("shown") else {
            return None;
        };
        views.retain(|other| *other != view);
        let is_empty = views.is_empty();
        (!is_empty).then_some(left)
    }
}

/// What a stored message shows under this id.
fn view<'a>(message: &'a Message, shown: &str) -> Option<&'a Value> {
    let views = message.extras.get("shown")?.as_array()?;
    let is_it = |view: &&Value| view.get("message_id").is_some_and(|id| id == shown);
    views.iter().find(is_it)
}

/// The write after which what is known of a turn says no more what it said.
async fn without_response(
    chat: &ChatEntries,
    space: &Space,
    turn: &str,
    now: Millis,
) -> Result<Option<BatchWrite>> {
    let key = TurnKeys::new(space.clone(), turn).info();
    let Some(entry) = chat.driver().get(&key, ValuePart::Whole).await? else {
        return Ok(None);
    };
    let info = TurnInfo {
        response: None,
        ..entry.value.to()?
    };
    Ok(Some(BatchWrite::Apply {
        key,
        op: Operation::Set(Json::of(&info)?.into()),
        life: entry.expires_at.map(|end| end - now),
    }))
}

/// The writes that forget what turns have left: the log of the turn whose entry goes, and the traces of it and of later ones,
/// which show what their models were told.
fn forget_turns(
    space: &Space,
    entries: &[ChatEntry],
    selection: EntrySelection<'_>,
) -> Vec<BatchWrite> {
    let mut writes = Vec::new();
    let mut turns: Vec<&str> = Vec::new();
    for entry in entries {
        let Some(turn) = entry.message.turn_id.as_deref() else {
            continue;
        };
        let keys = TurnKeys::new(space.clone(), turn);
        if !turns.contains(&turn) {
            turns.push(turn);
            writes.push(BatchWrite::Drop { log: keys.trace() });
        }
        if selection.is_in(entry) {
            let logs = [keys.events(), keys.inbox()];
            writes.extend(logs.map(|log| BatchWrite::Drop { log }));
        }
    }
    if let EntrySelection::Turn(turn) = selection {
        let keys = TurnKeys::new(space.clone(), turn);
        let known = Space::requests(&space.tenant).key(turn);
        let values = [
            keys.info(),
            keys.protocol_record(),
            keys.references(),
            known,
        ];
        writes.extend(values.map(|key| BatchWrite::Apply {
            key,
            op: Operation::Del,
            life: None,
        }));
    }
    writes
}
