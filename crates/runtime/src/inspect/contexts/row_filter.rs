//! Which rows of the index: a list of them, and what is done to all that match.

use super::contents::{StateQuery, of_state, with_contents};
use super::{ContextAction, ContextActionRow, ContextActionRows, ContextRow, in_time};
use crate::access::{Authorized, DataAccess};
use crate::error::{Error, Result};
use ambit_storage::clock::Millis;
use ambit_storage::directory::{IndexRow, RowOrder, RowState};
use ambit_storage::memory;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind, UsageStorage};
use ambit_storage::{Ambit, BulkReport, Page, SessionQuery, suggestion};
use std::collections::BTreeSet;

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
    /// Those with this label.
    pub label: Option<ContextLabel>,
    /// Those that hold something, or those that were cleared.
    pub state: Option<RowState>,
    /// Those last active before.
    pub active_before: Option<Millis>,
    /// Those last active then or later.
    pub active_after: Option<Millis>,
    /// Those made before.
    pub created_before: Option<Millis>,
    /// Those made then or later.
    pub created_after: Option<Millis>,
    /// In which order a list has them.
    pub order: RowOrder,
}

/// A label of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextLabel {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

type SessionCondition<T> = fn(&SessionQuery, T) -> SessionQuery;

/// The query with each condition that has a value.
fn narrowed<T, const N: usize>(
    query: SessionQuery,
    conditions: [(Option<T>, SessionCondition<T>); N],
) -> SessionQuery {
    let given = conditions.into_iter();
    let given = given.filter_map(|(value, narrow)| Some((value?, narrow)));
    given.fold(query, |query, (value, narrow)| narrow(&query, value))
}

impl ContextRowFilter {
    /// The same question for storage, but for the state, with the caller's rights in it. A scope that is no word of ours is somebody's own storage:
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
        let query = narrowed(
            query,
            [
                (self.active_before, SessionQuery::active_before),
                (self.active_after, SessionQuery::active_after),
                (self.created_before, SessionQuery::created_before),
                (self.created_after, SessionQuery::created_after),
            ],
        );
        Ok(match &self.label {
            Some(label) => query.labelled(&label.name, &label.value),
            None => query,
        })
    }

    /// One page of rows. What one person shares with a team is found by its chat's name and by its id alone.
    pub async fn list(
        &self,
        ambit: &Ambit,
        who: &Authorized,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ContextRow>> {
        let access = DataAccess::of(who);
        let query = self.query(&access.ambit(ambit)).await?;
        let query = query.in_order(self.order);
        let page = match self.state {
            // States are in no index: few rows may be found among many.
            Some(state) => {
                let help = "name an agent, a user or a chat beside it";
                let query = StateQuery::of(ambit, &query, state)?;
                let page = query.page(cursor, limit);
                in_time("finding contexts by state", help, page).await?
            }
            None => {
                let Page { items, next } = query.page(cursor, limit).await?;
                let items = with_contents(ambit, items).await?;
                Page { items, next }
            }
        };
        let rows = page.items.iter();
        let told = rows.map(|(row, contents)| ContextRow::of(row, *contents, &access));
        Ok(Page {
            items: told.collect(),
            next: page.next,
        })
    }

    /// Clears or removes all rows that match and that the caller may see, or says what would be done.
    pub async fn act(
        &self,
        ambit: &Ambit,
        who: &Authorized,
        bulk: &ContextBulk,
    ) -> Result<ContextActionRows> {
        let rights = DataAccess::of(who).ambit(ambit);
        let mut query = self.query(&rights).await?;
        if bulk.is_dry {
            query = query.dry_run();
        }
        let mut done = ContextActionRows::default();
        let Some(ids) = &bulk.ids else {
            self.act_on_all(&query, ambit, bulk.action, &mut done)
                .await?;
            return Ok(done);
        };
        let mut rows = Vec::new();
        for id in ids.iter().collect::<BTreeSet<_>>() {
            let found = query.with_id(id).rows().next().await?;
            let found = self.in_state(ambit, found.unwrap_or_default()).await?;
            match found.into_iter().next() {
                Some(row) => rows.push(row),
                None => done.unchanged.push(ContextActionRow::unknown(id)),
            }
        }
        // A history takes its memory along: behind it, one that is marked itself would be found no more.
        rows.sort_by_key(|row| row.identity.scope() != Some(memory::SCOPE));
        for row in &rows {
            let count = bulk.action.on_each(&alone(&query, row), &mut done).await?;
            if count == 0 {
                done.unchanged.push(ContextActionRow::unknown(&row.id));
            }
        }
        Ok(done)
    }

    /// Acts on all rows of a query that are in the state.
    async fn act_on_all(
        &self,
        query: &SessionQuery,
        ambit: &Ambit,
        action: ContextAction,
        done: &mut ContextActionRows,
    ) -> Result<()> {
        let Some(state) = self.state else {
            return action.on_each(query, done).await.map(drop);
        };
        let index = ambit.stores().index()?.names().to_vec();
        let beside = index.clone();
        let known = query.in_state(state);
        let known = known.filter(move |row| row.placement == beside);
        action.on_each(&known, done).await?;
        // Where the data is elsewhere, the index does not know the state.
        let others = query.filter(move |row| row.placement != index);
        let mut rows = others.rows();
        while let Some(page) = rows.next().await? {
            for row in self.in_state(ambit, page).await? {
                action.on_each(&alone(query, &row), done).await?;
            }
        }
        Ok(())
    }

    /// Those of these rows that are in the state.
    async fn in_state(&self, ambit: &Ambit, rows: Vec<IndexRow>) -> Result<Vec<IndexRow>> {
        let Some(state) = self.state else {
            return Ok(rows);
        };
        let found = of_state(ambit, rows, state).await?;
        Ok(found.into_iter().map(|(row, _)| row).collect())
    }
}

/// The query for one of its rows alone. The row's own fields narrow the search for the memory that goes along.
pub(super) fn alone(query: &SessionQuery, row: &IndexRow) -> SessionQuery {
    let identity = &row.identity;
    narrowed(
        query.with_id(&row.id),
        [
            (identity.user_id(), SessionQuery::for_user),
            (identity.chat_name(), SessionQuery::for_chat),
        ],
    )
}

/// What is done to rows that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextBulk {
    /// What.
    pub action: ContextAction,
    /// Nothing is changed, and the report says what would be.
    pub is_dry: bool,
    /// Of the rows that match only those with these ids.
    pub ids: Option<Vec<String>>,
}

impl ContextAction {
    /// Does it to each row of a query, and adds what came of it. Returns how many rows there were.
    async fn on_each(self, query: &SessionQuery, done: &mut ContextActionRows) -> Result<usize> {
        let mut count = 0;
        let tell = |row: &IndexRow, report: BulkReport| {
            count += 1;
            done.add(row, report);
        };
        match self {
            Self::Clear => query.clear_each(tell).await?,
            Self::Remove => query.remove_each(tell).await?,
        }
        Ok(count)
    }
}
