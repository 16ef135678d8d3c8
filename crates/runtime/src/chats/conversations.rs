//! Conversations that clients make and fill themselves, and what they do with others by the ids of their rows.

use crate::access::Authorized;
use crate::app::CONVERSATIONS;
use crate::chat::ChatMessage;
use crate::chat_message;
use crate::chats::details::{self, ChatEdits};
use crate::chats::find::ReachableChat;
use crate::chats::open::{as_its_owner, open_new, row_for};
use crate::chats::update::{change_row, remove_row};
use crate::error::{Error, Result, StorageError};
use ambit_storage::clock::Millis;
use ambit_storage::directory::IndexRow;
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, LiveAgent};
use serde_json::{Map, Value};

/// The agent of conversations that belong to no agent of the app, as storage knows it.
pub(crate) struct ConversationsAgent;

impl Agent for ConversationsAgent {
    fn name(&self) -> &str {
        CONVERSATIONS
    }
}

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationInfo {
    /// The row of its history in the index.
    pub row: String,
    /// When it was begun, in milliseconds since 1970.
    pub created_at: Millis,
    /// Free data.
    pub metadata: Map<String, Value>,
}

/// Messages that a client adds to a conversation.
#[derive(Default)]
pub struct NewMessages {
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// The id that each gets in the store: one that is there already is not added again.
    pub ids: Vec<String>,
}

/// A conversation that a client makes.
#[derive(Default)]
pub struct NewConversation {
    /// The chat; random where it is not named. One that is there already is completed.
    pub chat: Option<String>,
    /// Free data.
    pub metadata: Map<String, Value>,
    /// What it begins with.
    pub messages: NewMessages,
}

/// Makes a conversation.
pub async fn create(
    ambit: &Ambit,
    who: &Authorized,
    new: NewConversation,
) -> Result<ConversationInfo> {
    let session = open_new(ambit, who, CONVERSATIONS, new.chat.as_deref()).await?;
    let (space, _) = session.context().place();
    let own = ChatEdits {
        metadata: new.metadata,
        at: ambit.stores().options().clock.now(),
        ..ChatEdits::default()
    };
    let note = details::keep(&space, &own)?;
    session.context().stage_with_history([note]);
    add(&session, new.messages).await?;
    session.context().save().await?;
    let row = session.context().row_id();
    let row = row.ok_or_else(|| Error::internal("a conversation was stored without a row"))?;
    info(ambit, who, &row).await
}

/// One conversation.
pub async fn info(ambit: &Ambit, who: &Authorized, row: &str) -> Result<ConversationInfo> {
    let found = ReachableChat::at(ambit, row_for(ambit, who, row).await?).await?;
    Ok(ConversationInfo {
        row: found.row.id,
        created_at: found.row.created_at,
        metadata: found.about.own.metadata,
    })
}

/// Changes the metadata of a conversation.
pub async fn set_metadata(
    ambit: &Ambit,
    who: &Authorized,
    row: &str,
    metadata: Map<String, Value>,
) -> Result<ConversationInfo> {
    let found = row_for(ambit, who, row).await?;
    let metadata = Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]);
    change_row(ambit, &found, &metadata).await?;
    info(ambit, who, row).await
}

/// Removes a conversation as a chat is removed.
pub async fn remove(ambit: &Ambit, who: &Authorized, row: &str) -> Result<()> {
    let row = row_for(ambit, who, row).await?;
    remove_row(ambit, who, &row).await
}

/// Adds messages behind all others, in one append. A conversation that is removed meanwhile is not made anew.
pub async fn append(ambit: &Ambit, who: &Authorized, row: &str, new: NewMessages) -> Result<()> {
    let session = opened(ambit, who, row).await?;
    let context = session.context();
    context.bind_to_row(row);
    add(&session, new).await?;
    let Err(error) = context.save().await else {
        return Ok(());
    };
    context.discard();
    if matches!(error, StorageError::Conflict { .. }) {
        row_for(ambit, who, row).await?;
    }
    Err(error.into())
}

/// The conversation, opened as it is stored.
async fn opened(ambit: &Ambit, who: &Authorized, row: &str) -> Result<LiveAgent> {
    let row = row_for(ambit, who, row).await?;
    opened_at(ambit, who, &row).await
}

/// The same of a row that is known to be the caller's to change.
pub(super) async fn opened_at(
    ambit: &Ambit,
    who: &Authorized,
    row: &IndexRow,
) -> Result<LiveAgent> {
    let own = row.identity.agent_name();
    let agent = match ambit.agent(own) {
        Ok(_) => own,
        // It is there no more.
        Err(_) => CONVERSATIONS,
    };
    as_its_owner(ambit, who, agent, row).await
}

async fn add(session: &LiveAgent, new: NewMessages) -> Result<()> {
    let messages = stored(new)?;
    for message in messages {
        session.history().add_message(message).await?;
    }
    Ok(())
}

fn stored(new: NewMessages) -> Result<Vec<Message>> {
    let mut ids = new.ids.into_iter();
    let numbered = new.messages.iter().enumerate();
    let stored = numbered.map(|(at, chat)| {
        let mut message = chat_message::from_chat(&format!("items[{at}]"), chat)?;
        message.id = ids.next().unwrap_or_default();
        Ok(message)
    });
    stored.collect()
}
