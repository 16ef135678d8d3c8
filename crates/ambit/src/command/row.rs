//! An index row as commands print it.

use crate::failure::Result;
use ambit_storage::directory::{State, Tracked};
use ambit_storage::storage::{self, Stored};
use ambit_storage::{Ambit, Error, Query};
use serde::Serialize;
use std::collections::BTreeMap;

/// The fields have the names that they have everywhere; times are milliseconds since 1970.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    pub id: &'a str,
    pub agent_name: &'a str,
    pub chat_name: Option<&'a str>,
    pub user_id: Option<&'a str>,
    pub group: Option<&'a str>,
    pub scope: Option<&'a str>,
    pub key: String,
    /// Unknown where the store that holds the data could not be asked.
    pub state: Option<State>,
    pub items: Option<u64>,
    pub created_at: i64,
    pub last_activity_at: i64,
    pub agents: Vec<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
    pub drivers: &'a [String],
}

impl<'a> Row<'a> {
    /// The row, and what the store says that has its data.
    pub async fn of(ambit: &Ambit, row: &'a Tracked) -> Result<Self> {
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
async fn contents(ambit: &Ambit, row: &Tracked) -> Result<(Option<State>, Option<u64>)> {
    if ambit.stores().index()?.names() == row.placement {
        return Ok((Some(row.state), Some(row.items)));
    }
    match Stored::archive(ambit, row).await {
        Ok(stored) if stored.state() == storage::State::Empty => {
            Ok((Some(State::Cleared), Some(0)))
        }
        Ok(stored) => Ok((Some(State::Live), Some(stored.count()))),
        // A store that is down, or not named here, must not hide its contexts.
        Err(Error::Unavailable { .. } | Error::Invalid { .. } | Error::Corrupt { .. }) => {
            Ok((None, None))
        }
        Err(error) => Err(error.into()),
    }
}

/// The row with this id.
pub async fn find(ambit: &Ambit, id: &str) -> Result<Tracked> {
    let query = Query::every(ambit).with_id(id);
    let mut rows = query.rows();
    let found = rows.next().await?.into_iter().flatten().next();
    let missing = || Error::NotFound {
        what: "context",
        name: id.to_owned(),
    };
    Ok(found.ok_or_else(missing)?)
}

/// The word for a state.
pub fn word(state: Option<State>) -> &'static str {
    match state {
        Some(State::Live) => "live",
        Some(State::Cleared) => "cleared",
        None => "?",
    }
}
