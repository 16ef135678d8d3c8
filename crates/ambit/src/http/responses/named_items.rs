//! Stored items that a request names: those that it refers to, and the one whose place it takes.

use crate::http::ServerState;
use crate::http::response_items::{InputItem, ItemReader, ListedItem, StoredListedItem, find_item};
use crate::id::check_id;
use ambit_runtime::chats::{ChatEntries, EntryRange};
use ambit_runtime::public_id::{item_turn, response_turn};
use ambit_runtime::{Authorized, ConversationSource, Error, ErrorCode, Result, Supersede};

/// Each reference may be looked up in a conversation of its own, so that a request has few of them.
const REFERENCES: usize = 100;

/// Finds stored items for a request.
pub struct NamedItems<'a> {
    pub server: &'a ServerState,
    pub who: &'a Authorized,
    /// The conversation that the request goes on with.
    pub source: &'a ConversationSource,
}

impl NamedItems<'_> {
    /// Puts stored items in the place of references to them. In the request's own conversation an item has any id; in others it is
    /// found by the turn that its id names.
    pub async fn resolve(&self, items: &mut [InputItem]) -> Result<()> {
        let references = items.iter().filter(|item| item.reference().is_some());
        let count = references.count();
        if count > REFERENCES {
            let message = format!("input has more than {REFERENCES} references to items");
            return Err(Error::new(ErrorCode::LimitExceeded, message).with_param("input"));
        }
        if count == 0 {
            return Ok(());
        }
        let own = self.own().await?;
        for item in items {
            let Some(id) = item.reference().map(str::to_owned) else {
                continue;
            };
            let stored = match find_item(&own, &id) {
                Some(found) => found.item.clone(),
                None => self.elsewhere(&id).await?,
            };
            let stored = serde_json::to_value(&stored);
            item.resolve(stored.map_err(|error| Error::internal(error.to_string()))?)?;
        }
        Ok(())
    }

    /// What a request supersedes that names an item, a Response or any other message.
    pub async fn supersede(&self, id: Option<String>) -> Result<Option<Supersede>> {
        let Some(id) = id else {
            return Ok(None);
        };
        check_id("supersede", &id)?;
        if let Some(turn) = response_turn(&id) {
            return Ok(Some(Supersede::From(turn.to_owned())));
        }
        let own = self.own().await?;
        let message = find_item(&own, &id).map(|found| found.message_id.clone());
        Ok(Some(Supersede::From(message.unwrap_or(id))))
    }

    /// The items of the request's own conversation.
    async fn own(&self) -> Result<Vec<StoredListedItem>> {
        let ambit = self.server.runtime.contexts(self.who);
        let chat = match self.source {
            ConversationSource::Row(row) => {
                ChatEntries::read(&ambit, self.who, row, EntryRange::All).await
            }
            ConversationSource::Behind(turn) => self.around(turn).await,
            ConversationSource::New => return Ok(Vec::new()),
        };
        match chat {
            Ok(chat) => ItemReader::read(&chat).await,
            // One that is not there is refused by its own name where it is opened.
            Err(error) if error.code == ErrorCode::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The item with this id, which names its turn.
    async fn elsewhere(&self, id: &str) -> Result<ListedItem> {
        let unknown = || Error::not_found("item", id).with_param("input");
        let turn = item_turn(id).ok_or_else(unknown)?;
        let chat = self.around(turn).await;
        let chat = chat.map_err(|error| match error.code {
            ErrorCode::NotFound => unknown(),
            _ => error,
        })?;
        let items = ItemReader::read(&chat).await?;
        let found = find_item(&items, id).ok_or_else(unknown)?;
        Ok(found.item.clone())
    }

    /// The conversation that a turn belongs to.
    async fn around(&self, turn: &str) -> Result<ChatEntries> {
        let runtime = &self.server.runtime;
        runtime
            .entries_around(self.who, turn, EntryRange::All)
            .await
    }
}
