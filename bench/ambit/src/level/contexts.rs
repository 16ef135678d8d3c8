//! The level that applications use: agents, contexts and memories. Every call opens its session anew, as a request does.

use super::{DriverLevel, Level, Session};
use crate::Result;
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::memory::{Memory, MemorySettings};
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, Caller, Context, LiveAgent, Stores};
use async_trait::async_trait;
use std::sync::Arc;

const AGENT: &str = "assistant";
const STORE: &str = "bench";

struct Assistant;

impl Agent for Assistant {
    fn name(&self) -> &str {
        AGENT
    }
}

/// An installation of one agent over one store.
pub fn installation(driver: Arc<dyn Driver>) -> Result<Ambit> {
    let stores = Stores::builder(DriverOptions::default())
        .driver(STORE, driver)
        .default_drivers(&[STORE])
        .build()?;
    Ok(Ambit::builder(stores).agent(Assistant).build())
}

/// Contexts of one agent over one store.
pub struct ContextLevel {
    ambit: Ambit,
    memory: Memory,
    /// Makes many sessions at once.
    rows: DriverLevel,
}

impl ContextLevel {
    pub fn new(driver: Arc<dyn Driver>, tenant: &str) -> Result<Self> {
        let ambit = installation(driver.clone())?;
        Ok(Self {
            ambit: ambit.acting_as(&Caller::system(tenant)),
            memory: Memory::user(
                driver.clone(),
                tenant,
                Some("user"),
                MemorySettings::default(),
            )?,
            rows: DriverLevel::new(driver, tenant),
        })
    }

    async fn open(&self, session: &Session) -> Result<LiveAgent> {
        let agent = self.ambit.agent(AGENT)?;
        Ok(agent.for_user_id(&session.user).chat(&session.chat).await?)
    }
}

#[async_trait]
impl Level for ContextLevel {
    async fn start(&self, session: &Session) -> Result<()> {
        let agent = self.open(session).await?;
        agent.history().clear().await?;
        agent.context().save().await?;
        Ok(())
    }

    async fn start_all(&self, sessions: &[Session]) -> Result<()> {
        self.rows.start_all(sessions).await
    }

    async fn append(&self, session: &Session, messages: Vec<String>) -> Result<()> {
        let agent = self.open(session).await?;
        for text in messages {
            let message: Message = serde_json::from_str(&text)?;
            agent.history().add_message(message).await?;
        }
        agent.context().save().await?;
        Ok(())
    }

    async fn load(&self, session: &Session, last: Option<usize>) -> Result<usize> {
        let history = self.open(session).await?.history();
        let messages = match last {
            Some(last) => history.tail(last).await?,
            None => history.messages().await?,
        };
        Ok(messages.len())
    }

    async fn list(&self, user: &str) -> Result<usize> {
        let query = Context::of(&self.ambit, AGENT)?.for_user(user);
        Ok(query.page(None, ambit_storage::MAX_PAGE).await?.items.len())
    }

    async fn set(&self, key: &str, text: &str) -> Result<()> {
        self.memory.set(key, text, None).await?;
        Ok(())
    }

    async fn get(&self, key: &str) -> Result<Option<String>> {
        Ok(self.memory.get(key).await?.map(|value| value.to_string()))
    }

    async fn add(&self, key: &str) -> Result<()> {
        self.memory.incr(key, 1.0).await?;
        Ok(())
    }

    async fn push(&self, key: &str, texts: Vec<String>) -> Result<()> {
        self.memory.push(key, &texts).await?;
        Ok(())
    }

    async fn pop(&self, key: &str) -> Result<bool> {
        Ok(self.memory.pop(key).await?.is_some())
    }

    async fn pull_all(&self, key: &str) -> Result<usize> {
        Ok(self.memory.pull_all(key).await?.len())
    }
}
