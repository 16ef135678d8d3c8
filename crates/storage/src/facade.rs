//! Finding sessions through the index, and working on many of them.

mod cursor;

use crate::agent::LiveAgent;
use crate::ambit::Ambit;
use crate::clock::Millis;
use crate::directory::{Filter, Order, PageRequest, Position, Tracked};
use crate::driver::Driver;
use crate::event::IdentityStorageLoaded;
use crate::removal::{Action, BulkReport, Plan};
use crate::storage::{ChatHistoryStorage, StorageKind};
use crate::{Error, Result, SessionIdentity};
use std::fmt;
use std::sync::Arc;

/// Part of an answer, and the cursor behind it; no cursor where nothing follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Asks for the next page.
    pub next: Option<String>,
}

type Test = Arc<dyn Fn(&Tracked) -> bool + Send + Sync>;

/// Which sessions. Narrowing gives a new query, and the old one still matches what it did.
#[derive(Clone)]
pub struct Query {
    ambit: Ambit,
    agent: String,
    filter: Filter,
    tests: Vec<Test>,
    index: Option<Vec<String>>,
    is_dry: bool,
}

/// Rows read in one go.
const BATCH: usize = 500;
/// The largest page that may be asked for.
pub const MAX_PAGE: usize = 1_000;

impl Query {
    /// All sessions of a registered agent.
    pub fn of(ambit: &Ambit, agent: &str) -> Result<Self> {
        ambit.agent(agent).map(|_| Self::named(ambit, agent))
    }

    /// All sessions under a name in the index.
    pub fn named(ambit: &Ambit, agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            ..Self::every(ambit)
        }
        .narrowed(|filter| filter.agent = Some(agent.to_owned()))
    }

    /// All sessions of all agents.
    pub fn every(ambit: &Ambit) -> Self {
        Self {
            ambit: ambit.clone(),
            agent: String::new(),
            filter: Filter::default(),
            tests: Vec::new(),
            index: None,
            is_dry: false,
        }
    }

    /// Only storages of this kind.
    pub fn for_storage<K: StorageKind>(&self) -> Self {
        self.for_scope(K::PREFIX)
    }

    /// Only storages of this scope.
    pub fn for_scope(&self, scope: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.scope = Some(scope.to_owned()))
    }

    /// Only this user's.
    pub fn for_user(&self, user_id: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.user = Some(user_id.to_owned()))
    }

    /// Only of this chat.
    pub fn for_chat(&self, chat_name: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.chat = Some(chat_name.to_owned()))
    }

    /// Only of this group.
    pub fn for_group(&self, group: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.group = Some(group.to_owned()))
    }

    /// Only the row with this id.
    pub fn with_id(&self, id: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.id = Some(id.to_owned()))
    }

    /// Only identities that render to this key; there may be several.
    pub fn find_by_key(&self, key: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.key = Some(key.to_owned()))
    }

    /// Only those last active before.
    pub fn active_before(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.active_before = Some(at))
    }

    /// Only those last active at or after.
    pub fn active_after(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.active_after = Some(at))
    }

    /// Only those made before.
    pub fn created_before(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.created_before = Some(at))
    }

    /// Only those made at or after.
    pub fn created_after(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.created_after = Some(at))
    }

    /// Only those with this label.
    pub fn labelled(&self, name: &str, value: &str) -> Self {
        self.clone().narrowed(|filter| {
            filter.labels.insert(name.to_owned(), value.to_owned());
        })
    }

    /// Only those that pass this test, applied page by page.
    pub fn filter(&self, test: impl Fn(&Tracked) -> bool + Send + Sync + 'static) -> Self {
        let mut query = self.clone();
        query.tests.push(Arc::new(test));
        query
    }

    /// Reads the index in these drivers; data is still cleared and removed where it is on record.
    pub fn with_drivers(&self, names: &[&str]) -> Self {
        Self {
            index: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..self.clone()
        }
    }

    /// `clear` and `remove` report what they would do and change nothing.
    pub fn dry_run(&self) -> Self {
        Self {
            is_dry: true,
            ..self.clone()
        }
    }

    /// The oldest.
    pub async fn first(&self) -> Result<Option<SessionIdentity>> {
        Ok(self
            .some(Order::Oldest, 1)
            .await?
            .pop()
            .map(|row| row.identity))
    }

    /// The one last active.
    pub async fn last(&self) -> Result<Option<SessionIdentity>> {
        Ok(self
            .some(Order::Recent, 1)
            .await?
            .pop()
            .map(|row| row.identity))
    }

    /// How many.
    pub async fn count(&self) -> Result<u64> {
        if self.tests.is_empty() {
            return self.driver()?.count(&self.compiled()).await;
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
        Ok(!self.some(Order::Oldest, 1).await?.is_empty())
    }

    /// True where there is none.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(!self.exists().await?)
    }

    /// One page of rows, oldest first. The cursor is the one that came with the page before.
    pub async fn page(&self, cursor: Option<&str>, limit: usize) -> Result<Page<Tracked>> {
        if limit == 0 || limit > MAX_PAGE {
            return Err(Error::invalid(
                "limit",
                format!("is {limit}; ask for 1 to {MAX_PAGE}"),
            ));
        }
        let filter = self.compiled();
        let driver = self.driver()?;
        let after = match cursor {
            Some(cursor) => Some(cursor::open(driver.as_ref(), &filter, cursor, self.now()).await?),
            None => None,
        };
        let mut rows = Rows {
            query: self,
            after,
            order: Order::Oldest,
            size: limit + 1,
            is_over: false,
        };
        let mut items: Vec<Tracked> = Vec::new();
        while items.len() <= limit {
            match rows.next().await? {
                Some(page) => items.extend(page),
                None => break,
            }
        }
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = match items.last().filter(|_| has_more) {
            Some(last) => {
                Some(cursor::seal(driver.as_ref(), &filter, last.position(), self.now()).await?)
            }
            None => None,
        };
        self.tell_loaded(&items).await?;
        Ok(Page { items, next })
    }

    /// All rows, page after page.
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            query: self,
            after: None,
            order: Order::Oldest,
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
        match self.for_storage::<ChatHistoryStorage>().first().await? {
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
        let conversations = self.for_storage::<ChatHistoryStorage>();
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

    /// Clears the data of every match; rows stay.
    pub async fn clear(&self) -> Result<BulkReport> {
        self.act(Action::Clear).await
    }

    /// Removes the data and the rows of exactly the matches.
    pub async fn remove(&self) -> Result<BulkReport> {
        self.act(Action::Remove).await
    }

    async fn act(&self, action: Action) -> Result<BulkReport> {
        let plan = Plan {
            action,
            is_dry: self.is_dry,
            spares_wider_usage: self.filter.scope.is_none(),
        };
        let mut report = BulkReport::default();
        let mut rows = self.rows();
        while let Some(page) = rows.next().await? {
            for row in page {
                report.act(&self.ambit, &row, plan).await;
                self.ambit
                    .stores()
                    .options()
                    .fault_points
                    .reach("bulk.step");
            }
        }
        Ok(report)
    }

    pub(crate) fn wants_scope(&self, scope: Option<&str>) -> bool {
        self.filter.scope.is_none() || self.filter.scope.as_deref() == scope
    }

    async fn some(&self, order: Order, limit: usize) -> Result<Vec<Tracked>> {
        let size = if self.tests.is_empty() { limit } else { BATCH };
        let mut rows = Rows {
            query: self,
            after: None,
            order,
            size,
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

    async fn tell_loaded(&self, rows: &[Tracked]) -> Result<()> {
        let Ok(identity) = SessionIdentity::builder(&self.agent)
            .scope("context")
            .build()
        else {
            return Ok(());
        };
        let storage = identity.key();
        let about = crate::event::About::new(self.ambit.caller().tenant(), identity, self.now());
        let identities = rows.iter().map(|row| row.identity.clone()).collect();
        self.ambit
            .bus()
            .tell(IdentityStorageLoaded {
                about,
                storage,
                identities,
            })
            .await;
        Ok(())
    }

    /// The filter with the caller's rights in it.
    fn compiled(&self) -> Filter {
        self.ambit.caller().narrow(self.filter.clone())
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

    fn narrowed(mut self, change: impl FnOnce(&mut Filter)) -> Self {
        change(&mut self.filter);
        self
    }
}

/// Rows of a query, page after page in constant memory.
#[derive(Debug)]
pub struct Rows<'a> {
    query: &'a Query,
    after: Option<Position>,
    order: Order,
    size: usize,
    is_over: bool,
}

impl Rows<'_> {
    /// The next rows that match; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Tracked>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = PageRequest {
            order: self.order,
            after: self.after,
            limit: self.size,
        };
        let rows = self
            .query
            .driver()?
            .identities(&self.query.compiled(), &page)
            .await?;
        self.is_over = rows.len() < self.size;
        self.after = rows.last().map(Tracked::position);
        let passes = |row: &Tracked| self.query.tests.iter().all(|test| test(row));
        Ok(Some(rows.into_iter().filter(passes).collect()))
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("filter", &self.filter)
            .field("is_dry", &self.is_dry)
            .finish_non_exhaustive()
    }
}
