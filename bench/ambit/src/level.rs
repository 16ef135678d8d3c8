//! What a work needs of a level of Ambit, and the lowest level: a driver.

mod contexts;

pub use contexts::installation;

use crate::{Result, Store};
use ambit_storage::address::{ITEMS, LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder, TrackRequest};
use ambit_storage::driver::{self, Driver, DriverOptions, Durability, LogRange, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use ambit_storage::{Json, SessionIdentity, StoredValue};
use async_trait::async_trait;
use contexts::ContextLevel;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A conversation.
#[derive(Clone, Debug)]
pub struct Session {
    pub user: String,
    pub chat: String,
}

impl Session {
    pub fn new(user: &str, chat: &str) -> Self {
        Self {
            user: user.to_owned(),
            chat: chat.to_owned(),
        }
    }
}

/// What the works do, on whichever level of Ambit. Conversations and values of two levels do not meet.
#[async_trait]
pub trait Level: Send + Sync + 'static {
    /// Makes a conversation.
    async fn start(&self, session: &Session) -> Result<()>;
    /// Makes many, as cheaply as it can be done.
    async fn start_all(&self, sessions: &[Session]) -> Result<()>;
    /// Adds messages, given as JSON.
    async fn append(&self, session: &Session, messages: Vec<String>) -> Result<()>;
    /// Reads all messages, or the last ones; how many there were.
    async fn load(&self, session: &Session, last: Option<usize>) -> Result<usize>;
    /// How many conversations this user has, each of them read.
    async fn list(&self, user: &str) -> Result<usize>;
    /// Stores a text.
    async fn set(&self, key: &str, text: &str) -> Result<()>;
    /// Reads a value, as JSON.
    async fn get(&self, key: &str) -> Result<Option<String>>;
    /// Adds 1 to a number.
    async fn add(&self, key: &str) -> Result<()>;
    /// Adds texts to a list.
    async fn push(&self, key: &str, texts: Vec<String>) -> Result<()>;
    /// Takes the last item of a list; false where there was none.
    async fn pop(&self, key: &str) -> Result<bool>;
    /// Takes all items of a list; how many there were.
    async fn pull_all(&self, key: &str) -> Result<usize>;
}

/// Opens the store.
pub async fn open(store: &Store) -> Result<Arc<dyn Driver>> {
    let options = DriverOptions {
        durability: if store.normal {
            Durability::Normal
        } else {
            Durability::Full
        },
        // A benchmark may run on whatever there is.
        force: true,
        ..DriverOptions::default()
    };
    Ok(driver::open(&store.url, options).await?)
}

/// The level that is asked for, over a store that is open and apart from other tenants.
pub fn over(driver: Arc<dyn Driver>, store: &Store, tenant: &str) -> Result<Arc<dyn Level>> {
    Ok(if store.contexts {
        Arc::new(ContextLevel::new(driver, tenant)?)
    } else {
        Arc::new(DriverLevel::new(driver, tenant))
    })
}

/// The level of drivers: batches and reads.
pub struct DriverLevel {
    driver: Arc<dyn Driver>,
    tenant: String,
    memory: Space,
    entries: AtomicU64,
}

impl DriverLevel {
    pub fn new(driver: Arc<dyn Driver>, tenant: &str) -> Self {
        Self {
            driver,
            tenant: tenant.to_owned(),
            memory: Space::user_memory(tenant, "user"),
            entries: AtomicU64::new(0),
        }
    }

    fn log(&self, session: &Session) -> Result<LogKey> {
        let identity = base(session)?.with_scope(SCOPE)?;
        Ok(Space::of(&self.tenant, &identity).log(ITEMS))
    }

    fn key(&self, name: &str) -> ValueKey {
        self.memory.key(name)
    }

    fn track(&self, session: &Session) -> Result<BatchWrite> {
        let base = base(session)?;
        Ok(BatchWrite::Track(Box::new(TrackRequest {
            id: format!("{}-{}-{}", self.tenant, session.user, session.chat),
            tenant: self.tenant.clone(),
            identity: base.with_scope(SCOPE)?,
            agent: AGENT.to_owned(),
            base,
            placement: vec!["bench".to_owned()],
            created_by: None,
            team: None,
            labels: BTreeMap::new(),
        })))
    }

    async fn write(&self, write: BatchWrite) -> Result<Option<WriteOutcome>> {
        Ok(self.driver.commit(Batch::of([write])).await?.pop())
    }

    async fn apply(&self, key: &str, op: Operation) -> Result<Option<WriteOutcome>> {
        let key = self.key(key);
        self.write(BatchWrite::Apply {
            key,
            op,
            life: None,
        })
        .await
    }
}

const AGENT: &str = "assistant";
const SCOPE: &str = "chatHistory";
/// More entries than any history here has.
const ALL: usize = 1 << 20;
/// Index rows of one batch.
const ROWS: usize = 5_000;

fn base(session: &Session) -> Result<SessionIdentity> {
    let builder = SessionIdentity::builder(AGENT)
        .user_id(&session.user)
        .chat_name(&session.chat);
    Ok(builder.build()?)
}

#[async_trait]
impl Level for DriverLevel {
    async fn start(&self, session: &Session) -> Result<()> {
        let log = self.log(session)?;
        let entries = Vec::new();
        let writes = [self.track(session)?, BatchWrite::Append { log, entries }];
        self.driver.commit(Batch::of(writes)).await?;
        Ok(())
    }

    async fn start_all(&self, sessions: &[Session]) -> Result<()> {
        for some in sessions.chunks(ROWS) {
            let rows: Result<Vec<BatchWrite>> =
                some.iter().map(|session| self.track(session)).collect();
            self.driver.commit(Batch::of(rows?)).await?;
        }
        Ok(())
    }

    async fn append(&self, session: &Session, messages: Vec<String>) -> Result<()> {
        let log = self.log(session)?;
        let entry = |text: &String| -> Result<NewEntry> {
            let number = self.entries.fetch_add(1, Ordering::Relaxed);
            Ok(NewEntry {
                // Ids of two processes that write to one conversation must differ.
                id: format!("{number:012x}-{:x}", std::process::id()),
                body: Json::parse(text)?,
            })
        };
        let entries = messages.iter().map(entry).collect::<Result<Vec<_>>>()?;
        self.write(BatchWrite::Append { log, entries }).await?;
        Ok(())
    }

    async fn load(&self, session: &Session, last: Option<usize>) -> Result<usize> {
        let range = last.map_or(LogRange::from(1, ALL), LogRange::last);
        let page = self.driver.read(&self.log(session)?, range).await?;
        Ok(page.entries.len())
    }

    async fn list(&self, user: &str) -> Result<usize> {
        let filter = RowFilter {
            user: Some(user.to_owned()),
            ..RowFilter::tenant(&self.tenant)
        };
        let page = PageRequest {
            order: RowOrder::Recent,
            after: None,
            limit: 1_000,
        };
        Ok(self.driver.identities(&filter, &page).await?.len())
    }

    async fn set(&self, key: &str, text: &str) -> Result<()> {
        let value = StoredValue::from(Json::of(text)?);
        self.apply(key, Operation::Set(value)).await?;
        Ok(())
    }

    async fn get(&self, key: &str) -> Result<Option<String>> {
        let entry = self.driver.get(&self.key(key), ValuePart::Whole).await?;
        Ok(entry.map(|entry| entry.value.to_string()))
    }

    async fn add(&self, key: &str) -> Result<()> {
        self.apply(key, Operation::Incr(1.into())).await?;
        Ok(())
    }

    async fn push(&self, key: &str, texts: Vec<String>) -> Result<()> {
        let items: ambit_storage::Result<Vec<Json>> = texts.iter().map(Json::of).collect();
        self.apply(key, Operation::Push(items?)).await?;
        Ok(())
    }

    async fn pop(&self, key: &str) -> Result<bool> {
        let outcome = self.apply(key, Operation::Pop).await?;
        Ok(matches!(
            outcome,
            Some(WriteOutcome::Applied {
                output: OperationOutput::Taken(Some(_)),
                ..
            })
        ))
    }

    async fn pull_all(&self, key: &str) -> Result<usize> {
        match self.apply(key, Operation::PullAll).await? {
            Some(WriteOutcome::Applied {
                output: OperationOutput::Items(items),
                ..
            }) => Ok(items.len()),
            _ => Err("the list was not given".into()),
        }
    }
}
