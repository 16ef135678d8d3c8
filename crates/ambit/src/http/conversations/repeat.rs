//! Conversations that are made with an idempotency key: of several requests with one key, whichever node they reach, one makes a
//! conversation and all get it.
//!
//! A value in the store names the chat before it is made. Whoever finds it makes the same chat with the same messages, which adds
//! nothing where that was done: a request whose node has died is completed by its repetition.

use super::items::ConversationItems;
use crate::http::ServerState;
use crate::http::idempotency::{RepeatableRequest, refused};
use ambit_runtime::chats::conversations::{self, ConversationInfo, NewConversation};
use ambit_runtime::{Authorized, ErrorCode, Result};
use ambit_storage::ids;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What these requests are, among those that may have a key.
pub const KIND: &str = "conversation";

/// What is stored under a key.
#[derive(Serialize, Deserialize)]
struct ConversationClaim {
    /// The chat that is made.
    chat: String,
    /// The row of its history, once it is made.
    row: Option<String>,
}

/// Makes the conversation of a request, or finds it made.
pub async fn create_once(
    server: &ServerState,
    who: &Authorized,
    new: RepeatableConversation,
) -> Result<ConversationInfo> {
    let store = &*server.store;
    let begin = || ConversationClaim {
        chat: ids::unguessable(),
        row: None,
    };
    let mut claim = new.request.read_or_claim(store, begin).await?;
    let ambit = server.runtime.contexts(who);
    if let Some(row) = &claim.row {
        let found = conversations::info(&ambit, who, row).await;
        return found.map_err(|error| match error.code {
            // To make it again would bring back what somebody removed on purpose.
            ErrorCode::NotFound => refused(
                "the conversation of this Idempotency-Key was removed since; to make another one, use a new key",
            ),
            _ => error,
        });
    }
    let conversation = NewConversation {
        messages: new.items.new_messages(&[], Some(&claim.chat)),
        chat: Some(claim.chat.clone()),
        metadata: new.metadata,
    };
    let made = conversations::create(&ambit, who, conversation).await?;
    claim.row = Some(made.row.clone());
    new.request.keep(store, &claim).await;
    Ok(made)
}

/// A conversation that is made once.
pub struct RepeatableConversation {
    /// The request.
    pub request: RepeatableRequest,
    /// The items that it begins with.
    pub items: ConversationItems,
    /// Client-supplied data.
    pub metadata: Map<String, Value>,
}
