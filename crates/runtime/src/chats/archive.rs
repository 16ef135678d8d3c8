//! Stored messages of a conversation by their ids, whatever its view shows.

use crate::access::{Authorized, DataAccess};
use crate::chats::message_view;
use crate::error::Result;
use ambit_storage::Ambit;
use ambit_storage::directory::IndexRow;
use ambit_storage::storage::{Message, StorageSnapshot, StoredItem};
use serde_json::Value;
use std::collections::HashSet;

/// Messages read in one go.
const PAGE: u64 = 100;

/// The stored messages that are looked for.
pub(crate) struct WantedMessages {
    /// Their ids.
    pub ids: HashSet<String>,
    /// All of this turn too.
    pub turn_id: Option<String>,
}

/// Stored messages that were looked for and found.
#[derive(Default)]
pub(crate) struct ArchivedMessages {
    /// Those that say something.
    pub messages: Vec<Message>,
    /// The ids of those that were erased.
    pub erased: Vec<String>,
}

/// Those of the messages that are still there, in the history of a row that the caller was found to reach. They are looked for
/// from the end on.
pub(crate) async fn archived(
    ambit: &Ambit,
    who: &Authorized,
    row: &IndexRow,
    mut wanted: WantedMessages,
) -> Result<ArchivedMessages> {
    let rights = DataAccess::of(who).ambit_for(ambit, row);
    let archive = StorageSnapshot::archive(&rights, row).await?;
    let mut end = archive.count();
    let mut found = ArchivedMessages::default();
    let mut has_begun = false;
    while end > 0 && !(wanted.ids.is_empty() && wanted.turn_id.is_none()) {
        let before = end.saturating_sub(PAGE);
        let limit = usize::try_from(end - before).unwrap_or_default();
        let mut has_own = false;
        for item in archive.after(before, limit).await? {
            let is_own = is_of_turn(&item, wanted.turn_id.as_deref());
            has_own |= is_own;
            if wanted.ids.remove(&item.id) || is_own {
                match message_view::parse(&item)? {
                    Some(message) => found.messages.push(message),
                    None => found.erased.push(item.id),
                }
            }
        }
        // The messages of a turn are not far from each other.
        if has_begun && !has_own {
            wanted.turn_id = None;
        }
        has_begun |= has_own;
        end = before;
    }
    Ok(found)
}

fn is_of_turn(item: &StoredItem, turn_id: Option<&str>) -> bool {
    let body = turn_id.and_then(|_| item.body.to::<Value>().ok());
    body.is_some_and(|body| body["turn_id"].as_str() == turn_id)
}
