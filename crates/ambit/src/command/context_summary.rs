//! An index row as commands print it.

use crate::command_error::{CommandError, Result};
use ambit_runtime::inspect::contexts::contents;
use ambit_storage::directory::{IndexRow, RowState};
use ambit_storage::{Ambit, SessionQuery};
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
        let contents = contents(ambit, row).await?;
        Ok(Self {
            id: &row.id,
            agent_name: identity.agent_name(),
            chat_name: identity.chat_name(),
            user_id: identity.user_id(),
            group: identity.group(),
            scope: identity.scope(),
            key: identity.key(),
            state: contents.map(|contents| contents.state),
            items: contents.map(|contents| contents.items),
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
