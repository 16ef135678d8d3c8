//! Rows of the index and what they stand for; clearing and removing them.

mod contents;
mod event_follower;
mod of_app;
mod report;
mod row_filter;
mod values;

pub use contents::{ContextContents, contents};
pub use event_follower::EventFollower;
pub use of_app::of_app;
pub use report::{ContextActionReport, ContextActionRow, ContextActionRows, SkippedContext};
pub use row_filter::{ContextBulk, ContextLabel, ContextRowFilter};
pub use values::{ContextField, ContextValue, ContextValueFilter, ContextValueList, values};

use crate::access::{Authorized, DataAccess};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::directory::{AgentTouch, IndexRow, RowState};
use ambit_storage::memory;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind, StorageSnapshot, StoredItem};
use ambit_storage::{Ambit, Json, SessionQuery};
use row_filter::alone;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::ToSchema;

/// How long a question that reads the index to its end may take.
const INDEX_TIMEOUT: Duration = Duration::from_secs(5);

/// The answer to such a question. The help says how it is asked of fewer rows.
async fn in_time<T, E: Into<Error>>(
    question: &str,
    help: &str,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T> {
    let late = |_| {
        let message = format!("{question} has taken longer than {INDEX_TIMEOUT:?}; {help}");
        Error::new(ErrorCode::Timeout, message)
    };
    timeout(INDEX_TIMEOUT, answer)
        .await
        .map_err(late)?
        .map_err(Into::into)
}

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
    /// Whether it holds something; nothing where the store that has its data cannot be asked.
    pub state: Option<RowState>,
    /// How many items were added since it was last cleared; nothing where that store cannot be asked.
    pub items: Option<u64>,
    /// When the row was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When something was last written, in milliseconds since 1970.
    pub last_activity_at: i64,
    /// Who worked on it.
    pub agents: Vec<String>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// For callers without constraints: the stores that hold the data, the primary first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<String>>,
    /// For callers without constraints: the team it was made in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// For callers without constraints: the user who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// For callers without constraints: the generation of its items, another one after a clear; 0 where it has no log of items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// For callers without constraints: what each agent did with it, in order of first touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<ContextTouch>>,
}

/// One agent's work on a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextTouch {
    /// The agent.
    pub agent: String,
    /// The rendered key of the conversation it came from.
    pub key: String,
    /// When it came first, in milliseconds since 1970.
    pub first_at: i64,
    /// When it came last, in milliseconds since 1970; exact to a second.
    pub last_at: i64,
}

impl From<&AgentTouch> for ContextTouch {
    fn from(touch: &AgentTouch) -> Self {
        Self {
            agent: touch.agent.clone(),
            key: touch.base.key(),
            first_at: touch.first_at,
            last_at: touch.last_at,
        }
    }
}

impl ContextRow {
    /// A row as somebody sees it who reaches it, and what it holds.
    fn of(row: &IndexRow, contents: Option<ContextContents>, access: &DataAccess) -> Self {
        let identity = &row.identity;
        let is_whole = access.is_whole();
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
            state: contents.map(|contents| contents.state),
            items: contents.map(|contents| contents.items),
            created_at: row.created_at,
            last_activity_at: row.last_activity_at,
            agents: agents.collect(),
            labels: row.labels.clone(),
            placement: is_whole.then(|| row.placement.clone()),
            team: row.team.clone().filter(|_| is_whole),
            created_by: row.created_by.clone().filter(|_| is_whole),
            generation: contents
                .map(|contents| contents.generation)
                .filter(|_| is_whole),
            touches: is_whole.then(|| row.touches.iter().map(ContextTouch::from).collect()),
        }
    }
}

/// The row with this id.
pub async fn get(ambit: &Ambit, who: &Authorized, id: &str) -> Result<ContextRow> {
    let access = DataAccess::of(who);
    let row = access.row(ambit, id).await?;
    let contents = contents(ambit, &row).await?;
    Ok(ContextRow::of(&row, contents, &access))
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
    let every = SessionQuery::every(access.ambit_for(ambit, &row));
    // Who names one row means it, though it may be usage that is wider than its session.
    let scope = row.identity.scope();
    let query = alone(
        &scope.map_or(every.clone(), |scope| every.for_scope(scope)),
        &row,
    );
    if row.identity.scope() == Some(ChatHistoryStorage::PREFIX) {
        crate::chats::check_idle(ambit, &row).await?;
    }
    let report = match action {
        ContextAction::Clear => query.clear().await?,
        ContextAction::Remove => query.remove().await?,
    };
    crate::chats::finished(&report)
}

#[cfg(test)]
mod tests {
    use super::in_time;
    use crate::error::{Error, ErrorCode, Result};

    #[tokio::test(start_paused = true)]
    async fn a_question_without_end_is_ended() {
        let endless = std::future::pending::<Result<()>>();
        let error = in_time("counting", "ask for less", endless).await;
        let error = error.unwrap_err();
        let expected = "counting has taken longer than 5s; ask for less";
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Timeout, expected)
        );
        let answer = std::future::ready(Ok::<_, Error>(1));
        assert_eq!(in_time("counting", "", answer).await.unwrap(), 1);
    }
}
