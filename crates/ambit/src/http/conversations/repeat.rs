//! Conversations that are made with an idempotency key: of several requests with one key, whichever node they reach, one makes a
//! conversation and all get it.
//!
//! A value in the store names the chat before it is made. Whoever finds it makes the same chat with the same messages, which adds
//! nothing where that was done: a request whose node has died is completed by its repetition.

use super::items::ConversationItems;
use crate::http::ServerState;
use ambit_runtime::chats::conversations::{self, ConversationInfo, NewConversation};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, StorageError};
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use ambit_storage::{Json, ids};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a repetition gets the first request's conversation.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// What is stored under a key.
#[derive(Serialize, Deserialize)]
struct ConversationClaim {
    fingerprint: String,
    /// The chat that is made.
    chat: String,
    /// The row of its history, once it is made.
    row: Option<String>,
}

/// A key, and the request that it came with.
pub struct RepeatableRequest<'a> {
    server: &'a ServerState,
    who: &'a Authorized,
    place: ValueKey,
    fingerprint: String,
}

impl<'a> RepeatableRequest<'a> {
    /// A caller's request with this key and body.
    pub fn new(server: &'a ServerState, who: &'a Authorized, key: &str, body: &[u8]) -> Self {
        let client = who.claims.get("client_id").and_then(|claim| claim.as_str());
        let user = who.user_id.as_deref().unwrap_or_default();
        let name = ["conversation", user, client.unwrap_or_default(), key];
        Self {
            server,
            who,
            place: Space::repeats(who.tenant()).key(address::digest(&name)),
            fingerprint: address::digest(&[&String::from_utf8_lossy(body)]),
        }
    }

    /// Makes the conversation, or finds it made.
    pub async fn create(
        &self,
        items: ConversationItems,
        metadata: Map<String, Value>,
    ) -> Result<ConversationInfo> {
        let mut claim = self.claim().await?;
        let ambit = self.server.runtime.contexts(self.who);
        if let Some(row) = &claim.row {
            let found = conversations::info(&ambit, self.who, row).await;
            return found.map_err(|error| match error.code {
                ErrorCode::NotFound => gone(),
                _ => error,
            });
        }
        let new = NewConversation {
            messages: items.new_messages(&[], Some(&claim.chat)),
            chat: Some(claim.chat.clone()),
            metadata,
        };
        let made = conversations::create(&ambit, self.who, new).await?;
        claim.row = Some(made.row.clone());
        if let Err(error) = self
            .server
            .store
            .commit(Batch::of([self.set(&claim)?]))
            .await
        {
            tracing::error!("an idempotency key does not say what came of its request: {error}");
        }
        Ok(made)
    }

    /// What is stored under the key, or is from now on. Another request under the same key is refused.
    async fn claim(&self) -> Result<ConversationClaim> {
        loop {
            if let Some(stored) = self.server.store.get(&self.place, ValuePart::Whole).await? {
                let claim: ConversationClaim = stored.value.to()?;
                if claim.fingerprint == self.fingerprint {
                    return Ok(claim);
                }
                let message = "this Idempotency-Key belongs to another request; repeat that request, or use a new key";
                return Err(refused(message));
            }
            let claim = ConversationClaim {
                fingerprint: self.fingerprint.clone(),
                chat: ids::unguessable(),
                row: None,
            };
            let check = BatchCheck::version(self.place.clone(), None);
            let batch = Batch::of([self.set(&claim)?]).checking(check);
            match self.server.store.commit(batch).await {
                Err(StorageError::Conflict { .. }) => {}
                done => return done.map(|_| claim).map_err(Error::from),
            }
        }
    }

    fn set(&self, claim: &ConversationClaim) -> Result<BatchWrite> {
        let set = Operation::Set(Json::of(claim)?.into());
        let life = Some(to_millis(LIFETIME));
        Ok(BatchWrite::apply(self.place.clone(), set, life))
    }
}

/// To make it again would bring back what somebody removed on purpose.
fn gone() -> Error {
    refused(
        "the conversation of this Idempotency-Key was removed since; to make another one, use a new key",
    )
}

fn refused(message: &str) -> Error {
    let mut error = Error::new(ErrorCode::Conflict, message);
    error.param = Some("idempotency-key".to_owned());
    error
}
