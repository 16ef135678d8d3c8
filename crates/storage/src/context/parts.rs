//! What a session is opened with.

use crate::Result;
use crate::directory::Tracked;
use crate::memory;
use crate::storage::{Cell, ChatHistoryStorage, SharedCell, StorageKind, UsageStorage};
use crate::stores::Stores;
use std::sync::Arc;

/// The storages that every session has.
pub(crate) struct Parts {
    pub(crate) history: ChatHistoryStorage,
    pub(crate) usage: UsageStorage,
    /// Storages of other kinds that the index has on record.
    pub(crate) recorded: Vec<SharedCell>,
}

impl Parts {
    /// Puts the storage of the row's scope where the index says it is.
    pub(crate) fn place(&mut self, row: &Tracked, stores: &Stores) -> Result<()> {
        let placement = || stores.chain(&row.placement);
        match row.identity.scope() {
            Some(ChatHistoryStorage::PREFIX) => {
                self.history = ChatHistoryStorage::new(
                    row.identity.clone(),
                    placement()?,
                    self.history.options(),
                )?;
            }
            Some(UsageStorage::PREFIX) => {
                self.usage = UsageStorage::new(row.identity.clone(), placement()?)?;
            }
            // A conversation's memory is where its history is.
            None | Some(memory::SCOPE) => {}
            Some(scope) => {
                let cell = Cell::new(scope, &row.identity, placement()?)?;
                self.recorded.push(Arc::new(cell));
            }
        }
        Ok(())
    }
}
