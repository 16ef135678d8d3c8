//! Rows of the index and what they stand for; clearing and removing them.

use crate::access::{Authorized, DataAccess};
use crate::error::{Error, Result};
use ambit_storage::clock::Millis;
use ambit_storage::directory::{IndexRow, RowState};
use ambit_storage::memory;
use ambit_storage::storage::{
    ChatHistoryStorage, StorageKind, StorageSnapshot, StoredItem, UsageStorage,
};
use ambit_storage::{Ambit, BulkReport, Json, Page, SessionIdentity, SessionQuery, suggestion};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A row as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextRow {
    /// Opaque, never used again.
    pub id: String,
    /// The agent.
    pub agent_name: String,
    /// The chat.
    pub chat_name: Option<String>,
    /// The user.
    pub user_id: Option<String>,
    /// The group.
    pub group: Option<String>,
    /// Which storage of the conversation.
    pub scope: Option<String>,
    /// The rendered key.
    pub key: String,
    /// Whether it holds something.
    pub state: RowState,
    /// How many items were added since it was last cleared.
    pub items: u64,
    /// When the row was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When something was last written, in milliseconds since 1970.
    pub last_activity_at: i64,
    /// Who worked on it.
    pub agents: Vec<String>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
}

impl From<&IndexRow> for ContextRow {
    fn from(row: &IndexRow) -> Self {
        let identity = &row.identity;
        let own = |value: Option<&str>| value.map(str::to_owned);
        let agents = row.touches.iter().map(|touch| touch.agent.clone());
        Self {
            id: row.id.clone(),
            agent_name: identity.agent_name().to_owned(),
            chat_name: own(identity.chat_name()),
            user_id: own(identity.user_id()),
            group: own(identity.group()),
            scope: own(identity.scope()),
            key: identity.key(),
            state: row.state,
            items: row.items,
            created_at: row.created_at,
            last_activity_at: row.last_activity_at,
            agents: agents.collect(),
            labels: row.labels.clone(),
        }
    }
}

/// The scopes of what every conversation may have.
const SCOPES: [&str; 3] = [
    ChatHistoryStorage::PREFIX,
    UsageStorage::PREFIX,
    memory::SCOPE,
];

/// Which rows; every condition that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextRowFilter {
    /// Those that this agent touched.
    pub agent: Option<String>,
    /// The user's.
    pub user: Option<String>,
    /// The chat's.
    pub chat: Option<String>,
    /// The group's.
    pub group: Option<String>,
    /// Storages of this scope.
    pub scope: Option<String>,
    /// Those last active before.
    pub active_before: Option<Millis>,
}

type SessionCondition = fn(&SessionQuery, &str) -> SessionQuery;

/// The query with each condition that has a value.
fn narrowed<const N: usize>(
    query: SessionQuery,
    conditions: [(Option<&str>, SessionCondition); N],
) -> SessionQuery {
    let given = conditions.into_iter();
    let given = given.filter_map(|(value, narrow)| Some((value?, narrow)));
    given.fold(query, |query, (value, narrow)| narrow(&query, value))
}

impl ContextRowFilter {
    /// The same question for storage, with the caller's rights in it. A scope that is no word of ours is somebody's own storage:
    /// one that no row has is a mistake.
    async fn query(&self, ambit: &Ambit) -> Result<SessionQuery> {
        let own = self.scope.as_deref();
        if let Some(scope) = own.filter(|scope| !SCOPES.contains(scope))
            && !SessionQuery::every(ambit).for_scope(scope).exists().await?
        {
            let (known, hint) = (SCOPES.join(", "), suggestion::hint(scope, SCOPES));
            let message = format!(
                "scope \"{scope}\" is unknown: nothing that you may see has it; known are {known}{hint}"
            );
            return Err(Error::invalid("scope", message));
        }
        let query = match &self.agent {
            Some(agent) => SessionQuery::named(ambit, agent),
            None => SessionQuery::every(ambit),
        };
        let query = narrowed(
            query,
            [
                (self.user.as_deref(), SessionQuery::for_user),
                (self.chat.as_deref(), SessionQuery::for_chat),
                (self.group.as_deref(), SessionQuery::for_group),
                (own, SessionQuery::for_scope),
            ],
        );
        Ok(match self.active_before {
            Some(at) => query.active_before(at),
            None => query,
        })
    }

    /// One page of rows, oldest first. What one person shares with a team is found by its chat's name and by its id alone.
    pub async fn list(
        &self,
        ambit: &Ambit,
        who: &Authorized,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ContextRow>> {
        let rights = DataAccess::of(who).ambit(ambit);
        let page = self.query(&rights).await?.page(cursor, limit).await?;
        Ok(Page {
            items: page.items.iter().map(ContextRow::from).collect(),
            next: page.next,
        })
    }

    /// Clears or removes all rows that match and that the caller may see, or says what would be done.
    pub async fn act(
        &self,
        ambit: &Ambit,
        who: &Authorized,
        action: ContextAction,
        is_dry: bool,
    ) -> Result<ContextActionReport> {
        let rights = DataAccess::of(who).ambit(ambit);
        let mut query = self.query(&rights).await?;
        if is_dry {
            query = query.dry_run();
        }
        let report = match action {
            ContextAction::Clear => query.clear().await?,
            ContextAction::Remove => query.remove().await?,
        };
        Ok(report.into())
    }
}

/// The row with this id.
pub async fn get(ambit: &Ambit, who: &Authorized, id: &str) -> Result<ContextRow> {
    Ok(ContextRow::from(&DataAccess::of(who).row(ambit, id).await?))
}

/// Which items of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextItemFilter {
    /// Only those before this position.
    pub before: Option<u64>,
    /// At most so many: the last ones.
    pub limit: usize,
    /// The originals, instead of what a model sees in their place.
    pub archive: bool,
}

/// A stored item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextItem {
    /// Its place, from 1.
    pub position: u64,
    /// Its id.
    pub id: String,
    /// When it was stored, in milliseconds since 1970; nothing for what stands for other items.
    pub stored_at: Option<i64>,
    /// The turn that has taken its place; nothing where none has.
    pub superseded_by: Option<String>,
    /// The content.
    #[schema(value_type = serde_json::Value)]
    pub item: Json,
}

impl From<StoredItem> for ContextItem {
    fn from(item: StoredItem) -> Self {
        Self {
            position: item.position,
            id: item.id,
            stored_at: item.stored_at,
            superseded_by: item.superseded_by,
            item: item.body,
        }
    }
}

/// Items, in order, and the position to go on before.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextItemPage {
    /// The items.
    pub items: Vec<ContextItem>,
    /// `before` of the next page.
    pub next: Option<u64>,
}

/// The last items of a row.
pub async fn items(
    ambit: &Ambit,
    who: &Authorized,
    id: &str,
    filter: ContextItemFilter,
) -> Result<ContextItemPage> {
    let access = DataAccess::of(who);
    let row = access.row(ambit, id).await?;
    if row.identity.scope() == Some(memory::SCOPE) {
        let message = format!("context {id} is a memory: its values are found under /memory");
        return Err(Error::invalid("id", message));
    }
    let rights = access.ambit_for(ambit, &row);
    let stored = match filter.archive {
        true => StorageSnapshot::archive(&rights, &row).await?,
        false => StorageSnapshot::view(&rights, &row).await?,
    };
    let before = filter
        .before
        .map_or(u64::MAX, |before| before.saturating_sub(1));
    let end = before.min(stored.count());
    let start = end.saturating_sub(filter.limit as u64);
    let count = usize::try_from(end - start).unwrap_or(usize::MAX);
    let found = match count {
        0 => Vec::new(),
        count => stored.after(start, count).await?,
    };
    Ok(ContextItemPage {
        items: found.into_iter().map(ContextItem::from).collect(),
        next: (start > 0).then_some(start + 1),
    })
}

/// What a bulk operation did.
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

impl From<BulkReport> for ContextActionReport {
    fn from(report: BulkReport) -> Self {
        let keys = |identities: Vec<SessionIdentity>| {
            identities.iter().map(SessionIdentity::key).collect()
        };
        let left = |(identity, reason): (SessionIdentity, String)| SkippedContext {
            key: identity.key(),
            reason,
        };
        let failed = report.failed.into_iter().map(|(identity, error)| {
            let error = Error::from(error);
            // Where in a store it happened is for the log alone.
            tracing::warn!(session.key = %identity.key(), "a context is still as it was: {error}");
            left((identity, error.message))
        });
        Self {
            done: keys(report.done),
            unchanged: keys(report.unchanged),
            failed: failed.collect(),
            skipped: report.skipped.into_iter().map(left).collect(),
        }
    }
}

/// What is done to stored contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextAction {
    /// Data goes, rows stay.
    Clear,
    /// Data and rows go.
    Remove,
}

/// Clears or removes one row. A history takes its conversation's memory along.
pub async fn act(ambit: &Ambit, who: &Authorized, id: &str, action: ContextAction) -> Result<()> {
    let access = DataAccess::of(who);
    let row = access.row(ambit, id).await?;
    let identity = &row.identity;
    // The row's own fields narrow the search for the memory that goes along.
    let query = narrowed(
        SessionQuery::every(access.ambit_for(ambit, &row)).with_id(id),
        [
            (identity.user_id(), SessionQuery::for_user),
            (identity.chat_name(), SessionQuery::for_chat),
            (identity.scope(), SessionQuery::for_scope),
        ],
    );
    if identity.scope() == Some(ChatHistoryStorage::PREFIX) {
        crate::chats::check_idle(ambit, &row).await?;
    }
    let report = match action {
        ContextAction::Clear => query.clear().await?,
        ContextAction::Remove => query.remove().await?,
    };
    crate::chats::finished(&report)
}
