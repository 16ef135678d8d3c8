//! Opening the session behind a stored identity: what the index has on record of it is opened as it is there.

use super::{AgentDefinition, LiveAgent};
use crate::directory::IndexRow;
use crate::identity::SessionIdentity;
use crate::items::SharedCell;
use crate::kind::StorageKind;
use crate::session::context::{SessionStorages, recorded_cell};
use crate::session::history::{ChatHistoryStorage, HistoryOptions};
use crate::session::usage::UsageStorage;
use crate::{Error, Result};
use futures::future::BoxFuture;

impl AgentDefinition {
    /// The session behind a stored identity, scoped or not: its storages are opened as the index recorded them.
    pub async fn from_identity(&self, identity: &SessionIdentity) -> Result<LiveAgent> {
        let caller = self.ambit.caller();
        let row = self.row_of(identity).await?;
        let base = match &row {
            Some(row) => self.base_of(row),
            None => identity.base(),
        };
        if row.is_none() {
            caller.check_may_open(&base)?;
            // Naming a storage that is not on record opens nobody else's conversation either.
            self.row_of(&base).await?;
        }
        self.open_recorded(base, row).await
    }

    /// The session of this base identity, its storages opened as the index recorded them.
    pub async fn for_identity(&self, base: &SessionIdentity) -> Result<LiveAgent> {
        self.ambit.caller().check_may_open(base)?;
        self.open_recorded(base.clone(), None).await
    }

    fn open_recorded<'a>(
        &'a self,
        base: SessionIdentity,
        row: Option<IndexRow>,
    ) -> BoxFuture<'a, Result<LiveAgent>> {
        Box::pin(async move {
            let rows = self.recorded(&base, row).await?;
            let parts = self.storages(&base, &rows)?;
            self.live(base, parts).await
        })
    }

    /// The storages that these rows have on record as they are there, and those that every session has besides as the agent wants
    /// them. Of several rows of a scope the last one counts.
    pub(super) fn storages(
        &self,
        base: &SessionIdentity,
        rows: &[IndexRow],
    ) -> Result<SessionStorages> {
        let (caller, stores) = (self.ambit.caller(), self.ambit.stores());
        let row_of = |scope: &str| rows.iter().rfind(|row| row.identity.scope() == Some(scope));
        let history_row = row_of(ChatHistoryStorage::PREFIX);
        let history = match history_row {
            Some(row) => {
                let store_meta = self.agent.store_meta();
                let placement = stores.chain(&row.placement)?;
                let options = HistoryOptions { store_meta };
                ChatHistoryStorage::new(row.identity.clone(), placement, options)?
            }
            None => self.agent.create_chat_history(base, caller, stores)?,
        };
        let usage = match row_of(UsageStorage::PREFIX) {
            Some(row) => UsageStorage::new(row.identity.clone(), stores.chain(&row.placement)?)?,
            None => self.agent.create_usage_storage(base, caller, stores)?,
        };
        // The first one that a session is given counts.
        let cells = rows.iter().rev().map(|row| recorded_cell(row, stores));
        let recorded = cells.filter_map(Result::transpose);
        let recorded = recorded.collect::<Result<Vec<SharedCell>>>()?;
        Ok(SessionStorages {
            history,
            usage,
            recorded,
            row: history_row.map(|row| row.id.clone()),
        })
    }

    /// The index row of this identity, with its scope or as a history, if the caller may see it.
    async fn row_of(&self, identity: &SessionIdentity) -> Result<Option<IndexRow>> {
        let scoped = match identity.scope() {
            Some(_) => identity.clone(),
            None => identity.with_scope(ChatHistoryStorage::PREFIX)?,
        };
        match self.ambit.row_of(&scoped).await? {
            Some(row) if !self.ambit.caller().may_see(&row) => {
                Err(Error::not_found("session", identity.key()))
            }
            row => Ok(row),
        }
    }

    /// The base identity that this agent came from when it touched the row. What somebody else came from is theirs: a
    /// shared row leads to what is shared alone.
    fn base_of(&self, row: &IndexRow) -> SessionIdentity {
        let touch = row.touches.iter().find(|touch| touch.agent == self.name());
        let base = touch.map(|touch| &touch.base);
        let own = base.filter(|base| self.ambit.caller().check_may_open(base).is_ok());
        own.map_or_else(|| row.identity.base(), SessionIdentity::clone)
    }

    /// What the index knows of the session's storages.
    async fn recorded(
        &self,
        base: &SessionIdentity,
        row: Option<IndexRow>,
    ) -> Result<Vec<IndexRow>> {
        let is_own = |other: &IndexRow| self.base_of(other) == *base;
        let mut recorded = self.ambit.rows_of(self.name(), base, is_own).await?;
        recorded.extend(row);
        Ok(recorded)
    }
}
