//! Items that clients add to conversations.

use super::{entries, row};
use crate::http::ServerState;
use crate::http::idempotency::RepeatableRequest;
use crate::http::response_items::{InputItem, ItemReader, ListedItem};
use ambit_runtime::app::AppAgent;
use ambit_runtime::chats::conversations::{self, NewMessages};
use ambit_runtime::{Authorized, Error, Result};
use ambit_storage::address::digest;
use ambit_storage::ids::unguessable;
use serde_json::Value;
use std::collections::HashSet;

/// What requests that add items are, among those that may have an idempotency key.
pub const KIND: &str = "items";
/// As many items as are added at once.
const MOST: usize = 20;
/// Letters of an id that a repeated request makes again.
const ID: usize = 32;

/// Items that a client adds to a conversation.
pub struct ConversationItems(Vec<InputItem>);

impl ConversationItems {
    /// Reads the items.
    pub fn read(items: Vec<Value>) -> Result<Self> {
        if items.len() > MOST {
            let message = format!(
                "items has {} items; at most {MOST} are added at once",
                items.len()
            );
            return Err(Error::invalid("items", message));
        }
        let items = InputItem::read_all("items", items)?;
        for item in &items {
            item.check_no_instructions()?;
        }
        Ok(Self(items))
    }

    /// Refuses items in roles that clients of this agent may not use.
    fn check_roles(&self, agent: &AppAgent) -> Result<()> {
        self.0.iter().try_for_each(|item| item.check_role(agent))
    }

    /// The messages that they are, each item with an id that is none of `taken`. The same `seed` makes the same ids of
    /// messages.
    pub fn new_messages(self, taken: &[&str], seed: Option<&str>) -> NewMessages {
        let mut taken: HashSet<String> = taken.iter().map(|id| (*id).to_owned()).collect();
        let mut new = NewMessages::default();
        for mut item in self.0 {
            item.id = item.id.filter(|id| taken.insert(id.clone()));
            new.messages.extend(item.messages());
        }
        if let Some(seed) = seed {
            let ids = (0..new.messages.len()).map(|at| id_of(seed, at));
            new.ids = ids.collect();
        }
        new
    }
}

fn id_of(seed: &str, at: usize) -> String {
    let mut id = digest(&[seed, &at.to_string()]);
    id.truncate(ID);
    id
}

/// Items, and the request that adds them once.
pub struct NewConversationItems {
    /// The items.
    pub items: ConversationItems,
    /// The request, if it has an idempotency key.
    pub repeatable: Option<RepeatableRequest>,
}

/// Adds items, and returns them as they are stored. A request that is repeated, with its idempotency key and the same body, adds
/// nothing.
pub async fn add_items(
    server: &ServerState,
    who: &Authorized,
    conversation: &str,
    new: NewConversationItems,
) -> Result<Vec<ListedItem>> {
    let NewConversationItems { items, repeatable } = new;
    let before = entries(server, who, conversation).await?;
    // A conversation that clients have made belongs to no agent: there each agent reads what it takes from clients.
    if let Ok(agent) = server.runtime.app().agent(before.agent_name()) {
        items.check_roles(&agent)?;
    }
    let stored = ItemReader::read(&before).await?;
    let seed = match &repeatable {
        Some(request) => request.read_or_claim(&*server.store, unguessable).await?,
        None => unguessable(),
    };
    let first = id_of(&seed, 0);
    let is_there = before.entries.iter().any(|entry| entry.message.id == first);
    let taken: Vec<&str> = stored.iter().map(|stored| stored.item.id()).collect();
    let new = items.new_messages(&taken, Some(&seed));
    let ids: HashSet<String> = new.ids.iter().cloned().collect();
    if !is_there && !new.messages.is_empty() {
        let ambit = server.runtime.contexts(who);
        let added = conversations::append(&ambit, who, row(conversation)?, new).await;
        added.map_err(|error| error.naming("conversation", conversation))?;
    }
    let after = entries(server, who, conversation).await?;
    let items = ItemReader::read(&after).await?.into_iter();
    let own = items.filter(|stored| ids.contains(&stored.message_id));
    Ok(own.map(|stored| stored.item).collect())
}
