//! Which messages are new of a client that names all of them by ids: what it has is compared with what is stored by those alone.

use crate::chat::{ChatMessage, Role};
use crate::chats;
use crate::error::{Error, Result};
use crate::public_id;
use crate::request::{Supersede, TurnRequest};
use crate::turn::answers::message_ids;
use ambit_storage::LiveAgent;
use ambit_storage::storage::{self, Message};
use std::collections::HashSet;

/// How far back is looked, as long as nothing that was sent is found.
const LOOKS: [usize; 3] = [64, 1_024, 8_192];

/// Leaves of a request's messages those that are new: what stands behind the last stored one, and results of the client's
/// tools behind the last question, wherever the client has put them. A request that repeats the newest question alone asks for
/// another answer to it. What models have said is known here better.
pub(super) async fn keep_new(session: &LiveAgent, request: &mut TurnRequest) -> Result<()> {
    if !request.has_message_ids || request.skip.history {
        return Ok(());
    }
    let stored = StoredMessages::read(session, &request.messages).await?;
    if stored.newest.is_none() {
        return Ok(());
    }
    let sent = std::mem::take(&mut request.messages);
    let asks_again = sent
        .last()
        .is_some_and(|last| stored.ends_with_question(last));
    let count = sent.len();
    request.messages = stored.new_of(sent);
    request.repeated = count - request.messages.len();
    if !request.messages.is_empty() || request.supersede.is_some() {
        return Ok(());
    }
    if !asks_again {
        let message = "messages holds nothing new; add a message behind the last one, or leave out what comes behind the newest question to have it answered again";
        return Err(Error::invalid("messages", message));
    }
    request.supersede = Some(Supersede::LastAnswer);
    Ok(())
}

/// The end of a conversation, by the ids that clients have for it.
struct StoredMessages {
    ids: HashSet<String>,
    /// The last message.
    newest: Option<Message>,
    /// The last one of a person.
    question: Option<Message>,
}

impl StoredMessages {
    async fn read(session: &LiveAgent, sent: &[ChatMessage]) -> Result<Self> {
        let mut looks = LOOKS.into_iter();
        loop {
            let most = looks.next().unwrap_or(LOOKS[LOOKS.len() - 1]);
            let tail = session.history().tail(most).await?;
            let stored = Self::of(&tail);
            let is_enough = tail.len() < most || looks.len() == 0;
            if is_enough || sent.iter().any(|message| stored.has(message)) {
                return Ok(stored);
            }
        }
    }

    fn of(tail: &[Message]) -> Self {
        let is_question = |message: &&Message| message.role == storage::Role::User;
        Self {
            ids: tail.iter().flat_map(ids).collect(),
            newest: tail.last().cloned(),
            question: tail.iter().rfind(is_question).cloned(),
        }
    }

    fn has(&self, sent: &ChatMessage) -> bool {
        let id = client_id(sent);
        id.is_some_and(|id| self.ids.contains(id) || self.ids.contains(&public_id::whole(id)))
    }

    /// Whether this is the last message of a person.
    fn ends_with_question(&self, sent: &ChatMessage) -> bool {
        let (Some(question), Some(id)) = (&self.question, client_id(sent)) else {
            return false;
        };
        sent.role == Role::User && ids(question).any(|known| known == id)
    }

    fn new_of(&self, sent: Vec<ChatMessage>) -> Vec<ChatMessage> {
        let is_answer = |message: &ChatMessage| message.role == Role::Assistant;
        let last = sent.iter().rposition(|message| self.has(message));
        // A copy that has nothing in common with what is stored says nothing but what comes last.
        let last = last.or_else(|| sent.iter().rposition(is_answer));
        let first = last.map_or(0, |last| last + 1);
        let question = sent[..first]
            .iter()
            .rposition(|message| message.role == Role::User);
        let question = question.unwrap_or(first);
        let is_new = |(at, message): &(usize, ChatMessage)| match message.role {
            Role::Assistant => false,
            Role::Tool => *at >= question && !self.has(message),
            _ => *at >= first,
        };
        let numbered = sent.into_iter().enumerate().filter(is_new);
        numbered.map(|(_, message)| message).collect()
    }
}

/// The ids that clients have for a stored message: their own, and those of what it was shown as.
fn ids(message: &Message) -> impl Iterator<Item = String> + use<> {
    let client = chats::client_id(message).map(str::to_owned);
    let turn = message.turn_id.clone().unwrap_or_default();
    let shown: Vec<String> = message_ids(message)
        .map(|id| public_id::message_id(&turn, &id))
        .collect();
    [message.id.clone()].into_iter().chain(client).chain(shown)
}

/// The id by which the client knows a message that it has sent.
fn client_id(sent: &ChatMessage) -> Option<&str> {
    sent.client.as_ref()?.id.as_deref()
}
