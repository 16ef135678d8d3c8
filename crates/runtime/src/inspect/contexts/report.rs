//! What clearing and removing contexts has done.

use crate::error::Error;
use ambit_storage::BulkReport;
use ambit_storage::directory::IndexRow;
use serde::Serialize;
use utoipa::ToSchema;

/// What a bulk operation did, by keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ContextActionReport {
    /// Rendered keys of what was cleared or removed.
    pub done: Vec<String>,
    /// There was nothing to do.
    pub unchanged: Vec<String>,
    /// Left alone on purpose, and why.
    pub skipped: Vec<SkippedContext>,
    /// Still as it was, and why.
    pub failed: Vec<SkippedContext>,
}

/// Something that was left alone, and why.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SkippedContext {
    /// The rendered key.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// What a bulk operation did, by rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ContextActionRows {
    /// What was cleared or removed.
    pub done: Vec<ContextActionRow>,
    /// There was nothing to do.
    pub unchanged: Vec<ContextActionRow>,
    /// Left alone on purpose, and why.
    pub skipped: Vec<ContextActionRow>,
    /// Still as it was, and why.
    pub failed: Vec<ContextActionRow>,
}

/// A row as it was before a bulk operation. Of an id without a row that the caller may see, the id alone is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ContextActionRow {
    /// The row's id.
    pub id: String,
    /// The rendered key.
    pub key: Option<String>,
    /// The agent.
    pub agent_name: Option<String>,
    /// The user.
    pub user_id: Option<String>,
    /// The chat.
    pub chat_name: Option<String>,
    /// How many items it had.
    pub items: u64,
    /// Who worked on it.
    pub agents: Vec<String>,
    /// Why it is as it was.
    pub reason: Option<String>,
}

impl ContextActionRow {
    fn of(row: &IndexRow, reason: Option<String>) -> Self {
        let identity = &row.identity;
        let own = |value: Option<&str>| value.map(str::to_owned);
        let agents = row.touches.iter().map(|touch| touch.agent.clone());
        Self {
            id: row.id.clone(),
            key: Some(identity.key()),
            agent_name: Some(identity.agent_name().to_owned()),
            user_id: own(identity.user_id()),
            chat_name: own(identity.chat_name()),
            items: row.items,
            agents: agents.collect(),
            reason,
        }
    }

    /// What stands for an id that no row has.
    pub(super) fn unknown(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            reason: Some("no context that you may see has this id and matches".to_owned()),
            ..Self::default()
        }
    }
}

impl ContextActionRows {
    /// Adds what was done to one row.
    pub(super) fn add(&mut self, row: &IndexRow, report: BulkReport) {
        let told = |reason| ContextActionRow::of(row, reason);
        self.done.extend(report.done.iter().map(|_| told(None)));
        let unchanged = report.unchanged.iter();
        self.unchanged.extend(unchanged.map(|_| told(None)));
        let skipped = report.skipped.into_iter();
        self.skipped.extend(skipped.map(|(_, why)| told(Some(why))));
        let failed = report.failed.into_iter().map(|(identity, error)| {
            let error = Error::from(error);
            // Where in a store it happened is for the log alone.
            tracing::warn!(
                session.key = identity.key(),
                "a context is still as it was: {error}"
            );
            told(Some(error.message))
        });
        self.failed.extend(failed);
    }
}

impl From<ContextActionRows> for ContextActionReport {
    fn from(rows: ContextActionRows) -> Self {
        let keys = |rows: Vec<ContextActionRow>| rows.into_iter().filter_map(|row| row.key);
        let left = |rows: Vec<ContextActionRow>| {
            let left = rows.into_iter().filter_map(|row| {
                Some(SkippedContext {
                    key: row.key?,
                    reason: row.reason?,
                })
            });
            left.collect()
        };
        Self {
            done: keys(rows.done).collect(),
            unchanged: keys(rows.unchanged).collect(),
            skipped: left(rows.skipped),
            failed: left(rows.failed),
        }
    }
}
