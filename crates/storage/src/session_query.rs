//! Finding sessions through the index, and working on many of them.

mod bulk;
mod conditions;
mod cursor;
mod query_rows;
mod session;

pub use query_rows::QueryRows;

use crate::bus::EventMetadata;
use crate::clock::Millis;
use crate::debug::opaque_debug;
use crate::directory::{IndexRow, RowFilter, RowOrder, RowState, check_page};
use crate::driver::Driver;
use crate::identity::SessionIdentity;
use crate::session::events::IdentityStorageLoaded;
use crate::session::{Ambit, ChatHistoryStorage, LiveAgent};
use crate::{Error, Result};
use cursor::CursorQuery;
use serde::Serialize;
use std::sync::Arc;

/// Part of an answer, and the cursor behind it; no cursor where nothing follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Asks for the next page.
    pub next: Option<String>,
}

type RowPredicate = Arc<dyn Fn(&IndexRow) -> bool + Send + Sync>;

/// Which sessions. Narrowing gives a new query, and the old one still matches what it did.
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// # let ambit = Ambit::builder(stores).agent(Support).build();
/// use ambit_storage::Context;
/// use ambit_storage::storage::{ChatHistoryStorage, Message};
///
/// # for user in ["ann", "ben", "cleo"] {
/// let agent = ambit.agent("Support")?.for_user_id(user).await?;
/// agent.history().add_message(Message::user("Hello")).await?;
/// agent.context().save().await?;
/// # }
///
/// let histories = Context::of(&ambit, "Support")?.for_storage::<ChatHistoryStorage>();
/// assert_eq!(histories.count().await?, 3);
///
/// let page = histories.page(None, 2).await?;
/// assert_eq!(page.items.len(), 2);
/// let rest = histories.page(page.next.as_deref(), 2).await?;
/// assert_eq!(rest.items.len(), 1);
///
/// let report = histories.for_user("ben").remove().await?;
/// assert_eq!(report.done.len(), 1);
/// assert_eq!(histories.count().await?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SessionQuery {
    ambit: Ambit,
    agent: String,
    filter: RowFilter,
    /// What one of the tests wants, for cursors.
    state: Option<RowState>,
    tests: Vec<RowPredicate>,
    index: Option<Vec<String>>,
    order: RowOrder,
    is_dry: bool,
    /// Of all that was asked for, what cannot be.
    refused: Option<Error>,
}

/// Rows read in one go.
const BATCH: usize = 500;
impl SessionQuery {
    /// All sessions of a registered agent.
    pub fn of(ambit: impl Into<Ambit>, agent: &str) -> Result<Self> {
        let ambit = ambit.into();
        ambit.agent(agent).map(|_| Self::named(&ambit, agent))
    }

    /// All sessions under a name in the index.
    pub fn named(ambit: impl Into<Ambit>, agent: &str) -> Self {
        let query = Self {
            agent: agent.to_owned(),
            ..Self::every(ambit)
        };
        query.only("agent", |filter| &mut filter.agent, agent)
    }

    /// All sessions of all agents.
    pub fn every(ambit: impl Into<Ambit>) -> Self {
        Self {
            ambit: ambit.into(),
            agent: String::new(),
            filter: RowFilter::default(),
            state: None,
            tests: Vec::new(),
            index: None,
            order: RowOrder::Oldest,
            is_dry: false,
            refused: None,
        }
    }

    /// The oldest.
    pub async fn first(&self) -> Result<Option<SessionIdentity>> {
        let mut rows = self.first_rows(RowOrder::Oldest, 1).await?;
        Ok(rows.pop().map(|row| row.identity))
    }

    /// The one last active.
    pub async fn last(&self) -> Result<Option<SessionIdentity>> {
        let mut rows = self.first_rows(RowOrder::Recent, 1).await?;
        Ok(rows.pop().map(|row| row.identity))
    }

    /// How many.
    pub async fn count(&self) -> Result<u64> {
        if self.tests.is_empty() {
            return self.driver()?.count(&self.compiled()?).await;
        }
        let mut count = 0;
        let mut rows = self.rows();
        while let Some(page) = rows.next().await? {
            count += page.len() as u64;
        }
        Ok(count)
    }

    /// True where there is one.
    pub async fn exists(&self) -> Result<bool> {
        Ok(!self.first_rows(RowOrder::Oldest, 1).await?.is_empty())
    }

    /// True where there is none.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(!self.exists().await?)
    }

    /// One page of rows, oldest first where no order is asked for. The cursor is the one that came with the page before.
    pub async fn page(&self, cursor: Option<&str>, limit: usize) -> Result<Page<IndexRow>> {
        check_page(limit)?;
        let filter = self.compiled()?;
        let driver = self.driver()?;
        let cursor_query = CursorQuery {
            filter: &filter,
            order: self.order,
            state: self.state,
        };
        let after = match cursor {
            Some(cursor) => {
                Some(cursor::open(driver.as_ref(), &cursor_query, cursor, self.now()).await?)
            }
            None => None,
        };
        let mut rows = QueryRows {
            query: self,
            after,
            order: self.order,
            size: self.step(limit + 1),
            is_over: false,
        };
        let mut items: Vec<IndexRow> = Vec::new();
        while items.len() <= limit {
            match rows.next().await? {
                Some(page) => items.extend(page),
                None => break,
            }
        }
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = match items.last().filter(|_| has_more) {
            Some(last) => Some(
                cursor::seal(driver.as_ref(), &cursor_query, last.position(), self.now()).await?,
            ),
            None => None,
        };
        self.fire_loaded_event(&items).await?;
        Ok(Page { items, next })
    }

    /// All rows, page after page.
    pub fn rows(&self) -> QueryRows<'_> {
        QueryRows {
            query: self,
            after: None,
            order: RowOrder::Oldest,
            size: BATCH,
            is_over: false,
        }
    }

    /// Calls `work` with each identity, oldest first, and stops at the first error.
    pub async fn each<F: Future<Output = Result<()>>>(
        &self,
        work: impl Fn(SessionIdentity) -> F,
    ) -> Result<()> {
        let mut rows = self.rows();
        while let Some(page) = rows.next().await? {
            for row in page {
                work(row.identity).await?;
            }
        }
        Ok(())
    }

    /// What `work` makes of each identity, oldest first.
    pub async fn map<T, F: Future<Output = Result<T>>>(
        &self,
        work: impl Fn(SessionIdentity) -> F,
    ) -> Result<Vec<T>> {
        let (mut made, mut rows) = (Vec::new(), self.rows());
        while let Some(page) = rows.next().await? {
            for row in page {
                made.push(work(row.identity).await?);
            }
        }
        Ok(made)
    }

    /// The first session's agent, opened; only for a registered agent.
    pub async fn first_agent(&self) -> Result<Option<LiveAgent>> {
        let definition = self.ambit.agent(&self.agent)?;
        match self.conversations().first().await? {
            Some(identity) => definition.from_identity(&identity).await.map(Some),
            None => Ok(None),
        }
    }

    /// Calls `work` with each conversation's agent, opened; only for a registered agent.
    pub async fn each_agent<F: Future<Output = Result<()>>>(
        &self,
        work: impl Fn(LiveAgent) -> F,
    ) -> Result<()> {
        let definition = self.ambit.agent(&self.agent)?;
        let conversations = self.conversations();
        let mut rows = conversations.rows();
        while let Some(page) = rows.next().await? {
            for row in page {
                work(definition.from_identity(&row.identity).await?).await?;
            }
        }
        Ok(())
    }

    /// The rendered keys, one page.
    pub async fn storage_keys(&self, cursor: Option<&str>, limit: usize) -> Result<Page<String>> {
        let page = self.page(cursor, limit).await?;
        Ok(Page {
            items: page.items.iter().map(|row| row.identity.key()).collect(),
            next: page.next,
        })
    }

    /// The rendered keys of chat histories, one page.
    pub async fn chat_keys(&self, cursor: Option<&str>, limit: usize) -> Result<Page<String>> {
        self.for_storage::<ChatHistoryStorage>()
            .storage_keys(cursor, limit)
            .await
    }

    /// The identities of chat histories, one page.
    pub async fn chat_identities(
        &self,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<SessionIdentity>> {
        let page = self
            .for_storage::<ChatHistoryStorage>()
            .page(cursor, limit)
            .await?;
        Ok(Page {
            items: page.items.into_iter().map(|row| row.identity).collect(),
            next: page.next,
        })
    }

    pub(crate) fn wants_scope(&self, scope: Option<&str>) -> bool {
        self.filter.scope.is_none() || self.filter.scope.as_deref() == scope
    }

    async fn first_rows(&self, order: RowOrder, limit: usize) -> Result<Vec<IndexRow>> {
        let mut rows = QueryRows {
            query: self,
            after: None,
            order,
            size: self.step(limit),
            is_over: false,
        };
        let mut found = Vec::new();
        while found.len() < limit {
            match rows.next().await? {
                Some(page) => found.extend(page),
                None => break,
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// How many rows are read at once where so many are wanted: tests may leave none of the first.
    fn step(&self, wanted: usize) -> usize {
        match self.tests.is_empty() {
            true => wanted,
            false => BATCH,
        }
    }

    async fn fire_loaded_event(&self, rows: &[IndexRow]) -> Result<()> {
        let Ok(identity) = SessionIdentity::builder(&self.agent)
            .scope("context")
            .build()
        else {
            return Ok(());
        };
        let storage = identity.key();
        let about = EventMetadata::new(self.ambit.caller().tenant(), identity, self.now());
        let identities = rows.iter().map(|row| row.identity.clone()).collect();
        self.ambit
            .bus()
            .notify(IdentityStorageLoaded {
                about,
                storage,
                identities,
            })
            .await;
        Ok(())
    }

    /// One row for each session: its history, unless another storage was asked for.
    fn conversations(&self) -> Self {
        match self.filter.scope {
            Some(_) => self.clone(),
            None => self.for_storage::<ChatHistoryStorage>(),
        }
    }

    /// The filter with the caller's rights in it, or what is wrong with it.
    fn compiled(&self) -> Result<RowFilter> {
        self.refused.clone().map_or(Ok(()), Err)?;
        conditions::check_times(&self.filter)?;
        Ok(self.ambit.caller().narrow(self.filter.clone()))
    }

    fn driver(&self) -> Result<Arc<dyn Driver>> {
        let stores = self.ambit.stores();
        let placement = self
            .index
            .as_ref()
            .map_or_else(|| stores.index(), |names| stores.chain(names))?;
        Ok(placement.driver().clone())
    }

    fn now(&self) -> Millis {
        self.ambit.stores().options().clock.now()
    }
}

opaque_debug!(SessionQuery, |this| filter: this.filter, is_dry: this.is_dry);
