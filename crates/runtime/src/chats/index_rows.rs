//! Rows of the index, as far as a caller reaches them.

use crate::access::DataAccess;
use crate::chats::share;
use crate::error::{Error, Result};
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder};
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{Ambit, SessionIdentity};

impl DataAccess {
    /// The installation with the rights that a row needs which this caller was found to reach.
    pub fn ambit_for(&self, ambit: &Ambit, row: &IndexRow) -> Ambit {
        match self.viewer() {
            Some(viewer) if viewer.may_see(row) => self.ambit(ambit),
            _ => self.system(ambit),
        }
    }

    /// Whether this row is reached.
    pub async fn sees(&self, ambit: &Ambit, row: &IndexRow) -> Result<bool> {
        if row.tenant != self.tenant() {
            return Ok(false);
        }
        match self.viewer() {
            None => Ok(true),
            Some(viewer) if viewer.may_see(row) => Ok(true),
            Some(_) => share::is_shared_with(ambit, self, row).await,
        }
    }

    /// Whether the history of this session is listed for the caller. One that belongs to nobody in particular and is not in
    /// the index, or no more, is not.
    pub async fn lists(&self, ambit: &Ambit, session: &SessionIdentity) -> Result<bool> {
        if self.is_whole() {
            return Ok(true);
        }
        if session.user_id().is_some() {
            return Ok(session.user_id() == self.user());
        }
        let history = session.with_scope(ChatHistoryStorage::PREFIX)?;
        let filter = RowFilter {
            storage_key: Some(history.storage_key()),
            ..self.filter()
        };
        Ok(first(ambit, &filter).await?.is_some())
    }

    /// The row with this id; one out of reach is one that does not exist.
    pub async fn row(&self, ambit: &Ambit, id: &str) -> Result<IndexRow> {
        let unknown = || Error::not_found("context", id);
        if id.contains('\0') {
            return Err(unknown());
        }
        let filter = RowFilter {
            id: Some(id.to_owned()),
            ..RowFilter::tenant(self.tenant())
        };
        let row = first(ambit, &filter).await?.ok_or_else(unknown)?;
        match self.sees(ambit, &row).await? {
            true => Ok(row),
            false => Err(unknown()),
        }
    }
}

/// The first row that matches.
pub(crate) async fn first(ambit: &Ambit, filter: &RowFilter) -> Result<Option<IndexRow>> {
    let page = PageRequest::first(1);
    let index = ambit.stores().index()?;
    Ok(index.driver().identities(filter, &page).await?.pop())
}

/// Rows read in one go.
pub(crate) const BATCH: usize = 500;

/// Every row that matches, in order of creation: for filters that name a chat, of which there are few.
pub(crate) async fn every(ambit: &Ambit, filter: &RowFilter) -> Result<Vec<IndexRow>> {
    let index = ambit.stores().index()?;
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest {
            order: RowOrder::Oldest,
            after,
            limit: BATCH,
        };
        let found = index.driver().identities(filter, &page).await?;
        after = found.last().map(IndexRow::position);
        let is_over = found.len() < BATCH;
        rows.extend(found);
        if is_over {
            return Ok(rows);
        }
    }
}
