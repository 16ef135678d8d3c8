//! A node in this process: the runtime and its store without a server, so that what is counted is a turn's and nothing else.

use crate::measure::{processor_seconds, text};
use crate::{Result, app};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{Authorized, Runtime, RuntimeSettings, TurnRequest};
use ambit_storage::Stores;
use ambit_storage::driver::{self, Driver, DriverOptions, WorkCounters};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// How long a node that is closed waits for what is under way.
const GRACE: Duration = Duration::from_secs(10);

/// The benchmark's app over one store.
pub struct Node {
    pub runtime: Runtime,
    pub driver: Arc<dyn Driver>,
    pub work: WorkCounters,
    app: TempDir,
}

/// What one turn took.
#[derive(Clone, Copy, Debug)]
pub struct TurnCost {
    /// Milliseconds of the whole process's processor time.
    pub cpu: f64,
    pub statements: f64,
    pub pages: f64,
    /// Commits that waited for the disk.
    pub synced_commits: f64,
}

/// A person of this name, who may do everything with what is theirs.
pub fn person(name: &str) -> Authorized {
    Authorized {
        user_id: Some(name.to_owned()),
        ..Authorized::default()
    }
}

impl Node {
    pub async fn open(url: &str) -> Result<Self> {
        let options = DriverOptions {
            force: true,
            ..DriverOptions::default()
        };
        let work = options.work.clone();
        let driver = driver::open(url, options.clone()).await?;
        let stores = Stores::builder(options).driver("bench", driver.clone());
        let app = app::write()?;
        let settings = RuntimeSettings::new(app.path(), stores.build()?);
        Ok(Self {
            runtime: Runtime::open(settings).await?,
            driver,
            work,
            app,
        })
    }

    /// A turn of the agent with the hooks, read to its end.
    pub async fn turn(&self, user: &str, chat: &str, number: usize) -> Result<()> {
        self.turn_of(app::CLERK, user, chat, number).await
    }

    async fn turn_of(&self, agent: &str, user: &str, chat: &str, number: usize) -> Result<()> {
        let request = TurnRequest {
            authorized: person(user),
            agent: agent.to_owned(),
            chat: Some(chat.to_owned()),
            messages: vec![ChatMessage::user(text(number))],
            ..TurnRequest::default()
        };
        let mut started = self.runtime.start(request).await?;
        let mut last = String::new();
        while let Some(entries) = started.stream.next().await? {
            if let Some(entry) = entries.last() {
                last = entry.text.to_string();
            }
        }
        if last.contains("\"completed\"") {
            return Ok(());
        }
        Err(format!("a turn ended with {last}").into())
    }

    /// The same, and what it took.
    pub async fn counted(&self, user: &str, chat: &str, number: usize) -> Result<TurnCost> {
        self.counted_of(app::CLERK, user, chat, number).await
    }

    /// The same of another agent.
    pub async fn counted_of(
        &self,
        agent: &str,
        user: &str,
        chat: &str,
        number: usize,
    ) -> Result<TurnCost> {
        let (work, cpu) = (self.work.counts(), processor_seconds());
        self.turn_of(agent, user, chat, number).await?;
        let work = self.work.counts() - work;
        Ok(TurnCost {
            cpu: (processor_seconds() - cpu) * 1e3,
            statements: work.statements as f64,
            pages: work.pages as f64,
            synced_commits: work.synced_commits as f64,
        })
    }

    pub async fn close(self) -> Result<()> {
        self.runtime.close(GRACE).await?;
        drop(self.app);
        Ok(())
    }
}
