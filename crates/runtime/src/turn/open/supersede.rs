//! Which part of a conversation a request takes the place of: found once the conversation is held, and refused where that is not
//! the one any more which the request found.

use crate::chats::{client_id, is_input};
use crate::error::{Error, ErrorCode, Result};
use crate::public_id;
use crate::request::{Supersede, TurnRequest};
use crate::turn::answers::message_ids;
use crate::turn::recover::open_turns;
use ambit_storage::LiveAgent;
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::{
    HistoryPosition, Message, Role, SequencedMessage, SupersedableHistory, SupersededHistory,
};
use serde_json::Value;

/// A conversation as a request found it, before it waited for its turn.
pub(super) struct ConversationSnapshot {
    position: HistoryPosition,
    /// The turns that were open then.
    open: Vec<String>,
    /// How it is superseded.
    supersede: Supersede,
    on_busy: OnBusy,
}

impl ConversationSnapshot {
    /// Reads where the conversation stands; nothing where the request supersedes nothing of it.
    pub async fn read(session: &LiveAgent, request: &TurnRequest) -> Result<Option<Self>> {
        let Some(supersede) = request.supersede.clone() else {
            return Ok(None);
        };
        if request.skip.history {
            let message = "supersede changes the history, which this request leaves out";
            return Err(Error::invalid("supersede", message));
        }
        // First: a turn that begins behind this look has come after the request.
        let (space, driver) = session.context().place();
        let open = open_turns(&driver, &space.digest()).await?;
        Ok(Some(Self {
            position: session.history().position().await?,
            open: open.into_iter().map(|open| open.request_id).collect(),
            supersede,
            on_busy: request.on_busy,
        }))
    }

    /// What is left of the conversation in front of this turn; `settled` are the orphaned turns that were closed for it.
    pub async fn supersede(
        &self,
        session: &LiveAgent,
        request_id: &str,
        settled: &[String],
    ) -> Result<SupersededHistory> {
        let tail = session.history().supersedable().await?;
        let added = tail.added_since(&self.position).await?;
        let is_expected = |message: &Message| self.expects(message, settled);
        if !added.is_some_and(|added| added.iter().all(is_expected)) {
            return Err(changed());
        }
        let first = first_superseded(&tail, &self.supersede).await?;
        Ok(tail.supersede(first, request_id)?)
    }

    /// Whether a message may have come behind the request: it is the end of a turn that this request has ended itself.
    fn expects(&self, message: &Message, settled: &[String]) -> bool {
        let Some(turn) = &message.turn_id else {
            return false;
        };
        let is_interrupted = self.on_busy == OnBusy::Interrupt && self.open.contains(turn);
        message.role != Role::User && (is_interrupted || settled.contains(turn))
    }
}

/// What is said to whom another writer was first.
pub(super) fn changed() -> Error {
    let message =
        "the chat has changed since this request was read; look at it and send the request again";
    Error::new(ErrorCode::Conflict, message)
}

/// The sequence from which on all is superseded.
async fn first_superseded(tail: &SupersedableHistory, supersede: &Supersede) -> Result<u64> {
    let (id, leaves_input) = match supersede {
        Supersede::From(id) => (Some(id.as_str()), false),
        Supersede::Behind(id) => (Some(id.as_str()), true),
        Supersede::LastAnswer => (None, true),
    };
    let mut older = NewestFirst::of(tail);
    let found = loop {
        match (older.next().await?, id) {
            (Some(found), None) => break found,
            (Some(found), Some(id)) if is_named(&found.message, id) => break found,
            (Some(_), _) => {}
            (None, None) => return Ok(1),
            (None, Some(id)) => {
                return Err(Error::not_found("message", id).with_param("supersede"));
            }
        }
    };
    let is_late = id.is_none() && found.message.role == Role::User;
    if !is_late && !is_input(&found.message) {
        return begin_of_answer(older, found).await;
    }
    // The id of a request is that of its answer, which has not begun.
    let is_turn = id.is_some() && id == found.message.turn_id.as_deref();
    Ok(found.sequence + u64::from(leaves_input || is_turn))
}

/// Where the answer begins that a message is in, together with the turns that it continues.
async fn begin_of_answer(mut older: NewestFirst<'_>, inside: SequencedMessage) -> Result<u64> {
    let mut first = inside.sequence;
    let mut turn = inside.message.turn_id.clone();
    let mut continued = continues(&inside.message).is_some();
    while let Some(SequencedMessage { sequence, message }) = older.next().await? {
        // What others have appended in between is part of no turn.
        if message.turn_id.is_none() && turn.is_some() {
            continue;
        }
        if is_input(&message) {
            break;
        }
        if message.turn_id != turn {
            if !continued {
                break;
            }
            (turn, continued) = (message.turn_id.clone(), false);
        }
        continued |= continues(&message).is_some();
        first = sequence;
    }
    Ok(first)
}

/// Messages that can be superseded, the newest first.
struct NewestFirst<'a> {
    tail: &'a SupersedableHistory,
    read: u64,
    page: Vec<SequencedMessage>,
}

impl<'a> NewestFirst<'a> {
    fn of(tail: &'a SupersedableHistory) -> Self {
        Self {
            tail,
            read: 0,
            page: Vec::new(),
        }
    }

    /// The next older one that was not erased.
    async fn next(&mut self) -> Result<Option<SequencedMessage>> {
        loop {
            if self.page.is_empty() {
                self.page = self.tail.page_before(self.read).await?;
                self.read += self.page.len() as u64;
            }
            match self.page.pop() {
                Some(found) if found.message.is_erased() => {}
                found => return Ok(found),
            }
        }
    }
}

/// The turn whose answer the turn of this message continues.
pub(super) fn continues(message: &Message) -> Option<&str> {
    message.extras.get("continues").and_then(Value::as_str)
}

/// A call of a tool is named by the message that shows it.
fn is_named(message: &Message, id: &str) -> bool {
    let turn = message.turn_id.as_deref().unwrap_or_default();
    let mut own = message_ids(message).chain([message.id.clone()]);
    has_name(message, id) || own.any(|own| public_id::call_id(turn, &own) == id)
}

fn has_name(message: &Message, name: &str) -> bool {
    if message.id == name || client_id(message) == Some(name) {
        return true;
    }
    let turn = message.turn_id.as_deref();
    let Some(rest) = turn.and_then(|turn| name.strip_prefix(turn)) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix('.') else {
        return rest.is_empty();
    };
    rest == message.id || message_ids(message).any(|own| is_part(rest, &own))
}

/// Whether a name is that of a message or of a part of it: `M1`, `M1.c1`, `M1.r2`, `M1.result`.
fn is_part(name: &str, message_id: &str) -> bool {
    let Some(rest) = name.strip_prefix(message_id) else {
        return false;
    };
    let number = rest.strip_prefix(".c").or_else(|| rest.strip_prefix(".r"));
    let is_numbered = number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    });
    rest.is_empty() || rest == ".result" || is_numbered
}
