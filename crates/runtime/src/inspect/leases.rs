//! The turns under way in an installation, of all tenants: who runs them, and how many wait for their conversations.

use crate::chats::first;
use crate::error::{Error, Result};
use crate::journal::OpenTurn;
use ambit_storage::address::Space;
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::lease::LeaseState;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, Page, ids};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// A turn under way, and the lease of its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnLease {
    /// The turn.
    pub request_id: String,
    /// The id of the index row of its conversation's history; a temporary conversation has none.
    #[schema(required)]
    pub context: Option<String>,
    /// The agent that was asked.
    pub assistant_id: String,
    /// The node that has taken it up last.
    #[schema(required)]
    pub node: Option<String>,
    /// The number of the grant; nothing where nobody holds the conversation.
    #[schema(required)]
    pub epoch: Option<u64>,
    /// When the lease ends unless it is renewed, in milliseconds since 1970.
    #[schema(required)]
    pub expires_at: Option<i64>,
    /// How many turns wait for the conversation.
    pub waiting: usize,
}

/// A note of an open turn, and the store that has it.
struct StoredNote {
    open: OpenTurn,
    driver: Arc<dyn Driver>,
}

impl StoredNote {
    async fn lease(self, ambit: &Ambit) -> Result<TurnLease> {
        let Self { open, driver } = self;
        let row = first(ambit, &RowFilter::space(&open.space)).await?;
        // What is kept in a chain of stores is held by the lease of the chain.
        let placed = row.as_ref();
        let placed = placed.and_then(|row| ambit.stores().chain(&row.placement).ok());
        let driver = placed.map_or(driver, |placement| placement.driver().clone());
        let lease = LeaseState::of(driver.as_ref(), &open.space.lease()).await?;
        Ok(TurnLease {
            request_id: open.request_id,
            context: row.map(|row| row.id),
            assistant_id: open.agent,
            node: open.node,
            epoch: lease.epoch,
            expires_at: lease.expires_at,
            waiting: lease.waiting,
        })
    }
}

/// One page of the turns under way, by their ids. The cursor is the one that came with the page before.
pub async fn list(ambit: &Ambit, cursor: Option<&str>, limit: usize) -> Result<Page<TurnLease>> {
    if cursor.is_some_and(|cursor| ids::made_at(cursor).is_none()) {
        let message = "cursor must be `next` of a page of this list";
        return Err(Error::invalid("cursor", message));
    }
    let notes = notes(ambit).await;
    let is_behind = |id: &str| cursor.is_none_or(|cursor| id > cursor);
    let mut rest = notes.into_iter().filter(|(id, _)| is_behind(id));
    let mut items: Vec<TurnLease> = Vec::new();
    for (_, note) in rest.by_ref().take(limit) {
        items.push(note.lease(ambit).await?);
    }
    let has_more = rest.next().is_some();
    let last = items.last().filter(|_| has_more);
    let next = last.map(|lease| lease.request_id.clone());
    Ok(Page { items, next })
}

/// The notes of all open turns, by the turns' ids. A store that is away keeps back its own alone.
async fn notes(ambit: &Ambit) -> BTreeMap<String, StoredNote> {
    let mut notes = BTreeMap::new();
    for (name, driver) in ambit.stores().drivers() {
        match notes_in(driver).await {
            Ok(found) => notes.extend(found),
            Err(error) => {
                tracing::warn!(store = %name, %error, "the turns of a store are not listed");
            }
        }
    }
    notes
}

/// The notes in one store, but for those that cannot be read.
async fn notes_in(driver: &Arc<dyn Driver>) -> Result<Vec<(String, StoredNote)>> {
    let space = Space::turns();
    let mut pages = ValuePages::of(driver.as_ref(), &space, Pattern::all(), ValuePart::Whole);
    let (mut notes, mut damage) = (Vec::new(), None);
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            match entry.value.to::<OpenTurn>() {
                Ok(open) => {
                    let driver = driver.clone();
                    let id = open.request_id.clone();
                    notes.push((id, StoredNote { open, driver }));
                }
                Err(error) => damage = Some(error),
            }
        }
    }
    if let Some(error) = damage {
        tracing::warn!(%error, "a note of a turn is damaged, and the turn is not listed");
    }
    Ok(notes)
}
