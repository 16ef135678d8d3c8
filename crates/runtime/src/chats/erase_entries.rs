//! Erasing single entries of a conversation, and whole turns of it: from history and archive, from all that turns have left of
//! them, and from the conversations that begin with a copy of them.

mod copies;
mod entries;

use crate::access::Authorized;
use crate::app::CONVERSATIONS;
use crate::chats::details::TITLE_KEY;
use crate::chats::find::ReachableChat;
use crate::chats::open::row_for;
use crate::chats::update::{check_none_open, give_back, hold_idle};
use crate::error::{Error, Result};
use crate::journal::{self, TurnKeys};
use crate::turn_info::TurnInfo;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::clock::Millis;
use ambit_storage::copies::erasure_note;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::ValuePart;
use ambit_storage::lease::Lease;
use ambit_storage::operation::Operation;
use ambit_storage::storage::{Message, MessageErasure};
use ambit_storage::{Ambit, Json, LiveAgent};
use copies::CopyErasure;
use entries::{ErasedEntries, ErasedPart, TurnOfEntries};
use serde_json::Value;

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

/// Erases part of the conversation of a history's row, what was superseded included, and the copies of it with which others begin. No
/// turn begins meanwhile; while one runs, that is refused as busy. Where it fails or is broken off, it can be repeated. Where
/// the process dies, no conversation begins with a copy of it until then, for five minutes at most.
pub async fn erase(
    ambit: &Ambit,
    who: &Authorized,
    row: &str,
    selection: EntrySelection<'_>,
) -> Result<()> {
    let row = row_for(ambit, who, row).await?;
    let lease = hold_idle(ambit, &row).await?;
    ambit.stores().options().fault_points.reach("erase.held");
    let erased = erase_held(ambit, who, row, &lease, selection).await;
    give_back(lease).await;
    erased
}

async fn erase_held(
    ambit: &Ambit,
    who: &Authorized,
    row: IndexRow,
    lease: &Lease,
    selection: EntrySelection<'_>,
) -> Result<()> {
    let chat = ReachableChat::at(ambit, row).await?;
    check_none_open(&chat.driver, &chat.space).await?;
    let part = ErasedPart {
        selection,
        originals: None,
    };
    let erased = ErasedEntries::read(ambit, who, &chat, part).await?;
    if part.whole_turn().is_none() && erased.messages.is_empty() {
        return Err(Error::not_found("item", &chat.row.id));
    }
    let mut copies = CopyErasure::of(ambit, who, &chat.row.id, &erased);
    let done = async {
        // Before it is looked for copies: none is made behind that look.
        copies.note(true).await?;
        let tenant = &chat.space.tenant;
        let note = erasure_note(chat.driver.as_ref(), tenant, &chat.row.id).await?;
        // As long as the original is there, whoever repeats this finds what is left of its copies.
        copies.erase().await?;
        ambit.stores().options().fault_points.reach("erase.copies");
        forget(ambit, who, &chat, vec![lease.check(), note.check], &erased).await
    };
    let done = done.await;
    done.and(copies.note(false).await)?;
    // Last: until then a turn is found by this that is to be erased once more.
    if let Some(turn) = part.whole_turn() {
        let known = Space::requests(&chat.space.tenant).key(turn);
        chat.driver.commit(Batch::of([delete(known)])).await?;
    }
    Ok(())
}

/// Erases what was found of a conversation whose lease is held, as long as that and the other checks hold.
async fn forget(
    ambit: &Ambit,
    who: &Authorized,
    chat: &ReachableChat,
    checks: Vec<BatchCheck>,
    erased: &ErasedEntries<'_>,
) -> Result<()> {
    let (selection, whole) = (erased.part.selection, erased.part.whole_turn());
    let mut writes = forget_logs(&chat.space, &erased.turns);
    if let Some(turn) = whole {
        writes.extend(forget_values(&chat.space, turn));
    }
    let now = ambit.stores().options().clock.now();
    let staying = erased.turns.iter();
    for turn in staying.filter(|turn| whole != Some(turn.id.as_str())) {
        writes.extend(without_quotes(chat, turn, now).await?);
    }
    let mut gone = journal::worded_keys(chat.driver.as_ref(), &chat.space).await?;
    if erased.has_title() {
        gone.push(chat.space.key(TITLE_KEY));
    }
    writes.extend(gone.into_iter().map(delete));
    let ids = erased.messages.iter().map(|message| message.id.as_str());
    let ids: Vec<&str> = ids.collect();
    let session = opened(ambit, who, &chat.row).await?;
    let erasure = MessageErasure {
        message_ids: &ids,
        remainder: |message: &Message| selection.remainder(message),
        writes,
        checks,
    };
    session.history().erase_with(erasure).await?;
    Ok(())
}

/// Opens a conversation with all rights, as who began it: a copy may be somebody else's than the one who erases.
async fn opened(ambit: &Ambit, who: &Authorized, row: &IndexRow) -> Result<LiveAgent> {
    let owner = row.identity.user_id().or(row.created_by.as_deref());
    let as_owner = Authorized {
        user_id: owner.map(str::to_owned),
        team_id: row.team.clone(),
        ..who.clone()
    };
    let rights = ambit.acting_as(&as_owner.caller().as_system());
    let own = rights.agent(row.identity.agent_name());
    // Its agent may be there no more.
    let agent = own.or_else(|_| rights.agent(CONVERSATIONS))?;
    Ok(agent.from_identity(&row.identity).await?)
}

fn delete(key: ValueKey) -> BatchWrite {
    BatchWrite::Apply {
        key,
        op: Operation::Del,
        life: None,
    }
}

impl EntrySelection<'_> {
    /// Whether a message goes, or a part of it.
    pub(super) fn is_in(&self, message: &Message) -> bool {
        match self {
            Self::Message(id) | Self::Shown { message: id, .. } => message.id == *id,
            Self::Turn(turn) => message.turn_id.as_deref() == Some(turn),
        }
    }

    /// Whether a message is the server's result of a call that goes with `calling`, or the second half of an item that does.
    pub(super) fn is_result(&self, message: &Message, calling: &Message) -> bool {
        let Some(result) = &message.tool_result else {
            return false;
        };
        let is_own = calling.turn_id == message.turn_id;
        let client = |message: &Message| message.extras.get("client").cloned();
        match self {
            Self::Turn(_) => false,
            Self::Message(_) => {
                let id = client(calling).and_then(|client| client.get("id").cloned());
                let half = client(message).filter(|client| client.get("item").is_none());
                let other = half.and_then(|client| client.get("id").cloned());
                is_own && id.is_some() && id == other
            }
            Self::Shown { shown, .. } => {
                let call = view(calling, shown).and_then(|view| view.get("call"));
                let is_sent = client(message).is_some();
                is_own && !is_sent && call.is_some_and(|call| *call == result.call_id)
            }
        }
    }

    /// Whether a message is what was left of it when the part of it went.
    pub(super) fn is_left_of(&self, message: &Message) -> bool {
        let Self::Shown { message: id, shown } = self else {
            return false;
        };
        message.id == *id && view(message, shown).is_none()
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

/// The write after which what is known of a turn that stays tells nothing of what goes: no response where something of it goes, and of
/// a later turn not what its `Create` has told the model, which has the words of earlier turns.
async fn without_quotes(
    chat: &ReachableChat,
    turn: &TurnOfEntries,
    now: Millis,
) -> Result<Option<BatchWrite>> {
    let key = TurnKeys::new(chat.space.clone(), &turn.id).info();
    let Some(entry) = chat.driver.get(&key, ValuePart::Whole).await? else {
        return Ok(None);
    };
    let mut info: TurnInfo = entry.value.to()?;
    let is_changed = match turn.is_erased {
        true => info.response.take().is_some(),
        false => info.response.as_mut().is_some_and(forget_create),
    };
    if !is_changed {
        return Ok(None);
    }
    Ok(Some(BatchWrite::Apply {
        key,
        op: Operation::Set(Json::of(&info)?.into()),
        life: entry.expires_at.map(|end| end - now),
    }))
}

/// Leaves out of a response what `Create` has returned, and says whether there was any.
fn forget_create(response: &mut Value) -> bool {
    let create = response.get_mut("create");
    create.is_some_and(|create| !create.take().is_null())
}

/// The writes that forget what turns have left: the logs of those of which something goes, and the traces of them and of later
/// ones, which show what their models were told.
fn forget_logs(space: &Space, turns: &[TurnOfEntries]) -> Vec<BatchWrite> {
    let mut writes = Vec::new();
    for turn in turns {
        let keys = TurnKeys::new(space.clone(), &turn.id);
        let own = turn.is_erased.then(|| [keys.events(), keys.inbox()]);
        let logs = [keys.trace()].into_iter().chain(own.into_iter().flatten());
        writes.extend(logs.map(|log| BatchWrite::Drop { log }));
    }
    writes
}

/// The writes that forget what is known of a turn, but for its conversation.
fn forget_values(space: &Space, turn: &str) -> [BatchWrite; 3] {
    let keys = TurnKeys::new(space.clone(), turn);
    [keys.info(), keys.protocol_record(), keys.references()].map(delete)
}
