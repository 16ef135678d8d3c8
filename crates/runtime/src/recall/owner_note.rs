//! Whose conversations an index is of, for those who make its vectors.

use crate::error::Result;
use ambit_storage::address::Space;
use ambit_storage::directory::IndexRow;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{Ambit, SessionQuery};
use serde::{Deserialize, Serialize};

/// Whose conversations an index is of, and in which drivers. It goes with the index.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OwnerNote {
    pub tenant: String,
    /// A person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Of a conversation that is nobody's, its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row: Option<String>,
    pub drivers: Vec<String>,
}

impl OwnerNote {
    pub fn of(row: &IndexRow) -> Self {
        let user = row.identity.user_id().map(str::to_owned);
        Self {
            tenant: row.tenant.clone(),
            row: user.is_none().then(|| row.id.clone()),
            user,
            drivers: row.placement.clone(),
        }
    }

    /// The conversations of the index whose space has this digest, whoever may read them; `ambit` has all rights over the tenant.
    pub async fn rows(&self, ambit: &Ambit, digest: &str) -> Result<Vec<IndexRow>> {
        let all = SessionQuery::every(ambit).for_scope(ChatHistoryStorage::PREFIX);
        let of_owner = match (&self.user, &self.row) {
            (Some(user), _) => all.for_user(user),
            (None, Some(row)) => all.with_id(row),
            (None, None) => return Ok(Vec::new()),
        };
        let (mut pages, mut rows) = (of_owner.rows(), Vec::new());
        while let Some(page) = pages.next().await? {
            let is_in_it = |row: &IndexRow| {
                Space::recall(&row.tenant, &row.identity, &row.placement).digest() == digest
            };
            rows.extend(page.into_iter().filter(is_in_it));
        }
        Ok(rows)
    }
}
