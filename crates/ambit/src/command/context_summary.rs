//! An index row as commands print it.

use crate::command_error::{CommandError, Result};
use ambit_storage::directory::{IndexRow, RowState};
use ambit_storage::storage::{self, StorageSnapshot};
use ambit_storage::{Ambit, Error, SessionQuery};
use serde::Serialize;
use std::collections::BTreeMap;

/// The fields have the names that they have everywhere; times are milliseconds since 1970.
#[derive(Debug, Serialize)]
pub struct ContextSummary<'a> {
    pub id: &'a str,
    pub agent_name: &'a str,
    pub chat_name: Option<&'a str>,
    pub user_id: Option<&'a str>,
    pub group: Option<&'a str>,
    pub scope: Option<&'a str>,
    pub key: String,
    /// Unknown where the store that holds the data could not be asked.
    pub state: Option<RowState>,
    pub items: Option<u64>,
    pub created_at: i64,
    pub last_activity_at: i64,
    pub agents: Vec<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
    pub drivers: &'a [String],
}

impl<'a> ContextSummary<'a> {
    /// The row, and what the store says that has its data.
    pub async fn of(ambit: &Ambit, row: &'a IndexRow) -> Result<Self> {
        let identity = &row.identity;
        let (state, items) = contents(ambit, row).await?;
        Ok(Self {
            id: &row.id,
            agent_name: identity.agent_name(),
            chat_name: identity.chat_name(),
            user_id: identity.user_id(),
            group: identity.group(),
            scope: identity.scope(),
            key: identity.key(),
            state,
            items,
            created_at: row.created_at,
            last_activity_at: row.last_activity_at,
            agents: row
                .touches
                .iter()
                .map(|touch| touch.agent.as_str())
                .collect(),
            labels: &row.labels,
            drivers: &row.placement,
        })
    }
}

/// The row knows these where it lies beside its data; elsewhere the data is asked.
async fn contents(ambit: &Ambit, row: &IndexRow) -> Result<(Option<RowState>, Option<u64>)> {
    if ambit.stores().index()?.names() == row.placement {
        return Ok((Some(row.state), Some(row.items)));
    }
    match StorageSnapshot::archive(ambit, row).await {
        Ok(stored) if stored.state() == storage::StorageState::Empty => {
            Ok((Some(RowState::Cleared), Some(0)))
        }
        Ok(stored) => Ok((Some(RowState::Live), Some(stored.count()))),
        // A store that is down, or not named here, must not hide its contexts.
        Err(Error::Unavailable { .. } | Error::Invalid { .. } | Error::Corrupt { .. }) => {
            Ok((None, None))
        }
        Err(error) => Err(error.into()),
    }
}

/// The row with this id.
pub async fn find(ambit: &Ambit, id: &str) -> Result<IndexRow> {
    let query = SessionQuery::every(ambit).with_id(id);
    let mut rows = query.rows();
    let found = rows.next().await?.into_iter().flatten().next();
    found.ok_or_else(|| unknown(id))
}

/// What is said where no context has this id.
pub fn unknown(id: &str) -> CommandError {
    CommandError::NotFound {
        what: format!("context \"{id}\""),
        advice: "`ambit context ls` lists contexts; their ids have 20 letters and digits",
    }
}

/// The word for a state.
pub fn word(state: Option<RowState>) -> &'static str {
    match state {
        Some(RowState::Live) => "live",
        Some(RowState::Cleared) => "cleared",
        None => "?",
    }
}
