//! The application of these tests, a session that has some of everything, and all that a store holds of a tenant.

use crate::stores::{Fresh, Store};
use ambit_storage::address::Space;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::conformance::FlakyDriver;
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder};
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{Message, StorageKind, UsageRecord};
use ambit_storage::{Agent, Ambit, Caller, LiveAgent, Result, SessionIdentity, Stores};
use std::sync::Arc;

pub const AGENT: &str = "Agent";

pub struct Plain;

impl Agent for Plain {
    fn name(&self) -> &str {
        AGENT
    }
}

/// A storage of the application's own.
pub struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = String;
}

/// An installation over one store that fails on demand.
pub struct App {
    pub store: Arc<dyn Driver>,
    pub flaky: Arc<FlakyDriver>,
    pub fresh: Fresh,
    kind: &'static Store,
    ambit: Ambit,
}

impl App {
    pub async fn over(store: &'static Store) -> Self {
        Self::at(store.fresh(), store).await
    }

    /// One for the next of many works: a store that is made for small sizes is a new one each time.
    pub async fn renewed(self) -> Self {
        if self.fresh.is_small() {
            self.store.close().await.expect("it closes");
            return Self::over(self.kind).await;
        }
        self
    }

    pub async fn at(fresh: Fresh, kind: &'static Store) -> Self {
        let store = fresh.open().await;
        // The holder of a lease looks in the background for those who want to interrupt it.
        let flaky = FlakyDriver::new(store.clone()).sparing(|key| key.name.starts_with("wish/"));
        let flaky = Arc::new(flaky);
        let options = DriverOptions {
            clock: fresh.clock(),
            ..DriverOptions::default()
        };
        let stores = Stores::builder(options).driver("main", flaky.clone());
        let stores = stores.build().expect("one store");
        let ambit = Ambit::builder(stores).agent(Plain).build();
        Self {
            store,
            flaky,
            fresh,
            kind,
            ambit,
        }
    }

    /// What happens in one tenant, which nothing has touched before.
    pub fn tenant(&self, tenant: &str) -> Ambit {
        self.ambit.acting_as(&Caller::system(tenant))
    }

    /// A tenant with two sessions, and the first of them opened anew.
    pub async fn furnished(&self, tenant: &str) -> LiveAgent {
        let ambit = self.tenant(tenant);
        furnish(&ambit).await.expect("nothing fails yet");
        open(&ambit, "a").await.expect("opening needs no store")
    }

    pub async fn holds(&self, tenant: &str) -> Vec<String> {
        holds(&*self.store, tenant).await
    }
}

pub async fn open(ambit: &Ambit, chat: &str) -> Result<LiveAgent> {
    ambit.agent(AGENT)?.for_chat(chat).await
}

/// A message of this text.
pub async fn say(agent: &LiveAgent, text: &str) -> Result<Message> {
    agent.history().add_message(Message::user(text)).await
}

pub fn spend(agent: &LiveAgent) -> Result<()> {
    let record = UsageRecord {
        prompt_tokens: 3,
        completion_tokens: 4,
        ..UsageRecord::default()
    };
    agent.context().usage().record(record).map(drop)
}

/// Session `a` has a large message, a view that differs from its archive, usage, notes and memory; `b` a message.
async fn furnish(ambit: &Ambit) -> Result<()> {
    let agent = open(ambit, "a").await?;
    say(&agent, "first").await?;
    say(&agent, &"large ".repeat(12_000)).await?;
    say(&agent, "third").await?;
    spend(&agent)?;
    let notes = agent.context().storage::<Notes>().await?;
    notes.add("note".to_owned())?;
    agent.context().save().await?;
    let messages = agent.history().messages().await?;
    agent
        .history()
        .replace_messages(messages[1..].to_vec())
        .await?;
    agent.context().save().await?;
    let memory = agent.context().memory()?;
    memory.set("word", "text", None).await?;
    memory.push("list", &[1, 2, 3]).await?;
    let other = open(ambit, "b").await?;
    say(&other, "elsewhere").await?;
    other.context().save().await.map(drop)
}

/// Everything stored under a tenant, leases apart: who holds one is no content.
pub async fn holds(store: &dyn Driver, tenant: &str) -> Vec<String> {
    let page = PageRequest {
        order: RowOrder::Oldest,
        after: None,
        limit: 10_000,
    };
    let rows = store.identities(&RowFilter::tenant(tenant), &page).await;
    let rows = rows.expect("the index is read");
    let mut spaces = vec![Space::usage_sums(tenant), Space::tombstones(tenant)];
    for chat in ["a", "b", "c"] {
        let base = SessionIdentity::builder(AGENT).chat_name(chat).build();
        let base = base.expect("a proper name");
        spaces.extend(["chatHistory", "usage", "notes", "memory"].map(|scope| {
            let identity = base.with_scope(scope).expect("a proper scope");
            Space::of(tenant, &identity)
        }));
    }
    let mut found: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    for space in spaces {
        found.extend(space_holds(store, &space).await);
    }
    found
}

/// What is in one space.
pub async fn space_holds(store: &dyn Driver, space: &Space) -> Vec<String> {
    let mut found = Vec::new();
    for name in store.logs(space).await.expect("the logs are listed") {
        let log = space.log(name);
        let page = store.read(&log, LogRange::from(1, 10_000)).await;
        found.push(format!("{log} {:?}", page.expect("the log is read")));
    }
    let scan = ValueScan::first(Pattern::all(), 10_000, ValuePart::Whole);
    let values = store.scan(space, &scan).await.expect("the values are read");
    found.extend(values.iter().map(|value| format!("{space} {value:?}")));
    found
}

/// What sessions `a` and `b` of a tenant look like, without ids, times and versions.
pub async fn looks(ambit: &Ambit) -> Result<String> {
    let mut seen = Vec::new();
    for chat in ["a", "b"] {
        let agent = open(ambit, chat).await?;
        let (history, memory) = (agent.history(), agent.context().memory()?);
        let notes = agent.context().storage::<Notes>().await?;
        let texts = |messages: Vec<Message>| -> Vec<String> {
            let text = |message: &Message| {
                let text = message.text();
                format!("{} bytes: {:.20}", text.len(), text)
            };
            messages.iter().map(text).collect()
        };
        let mut memories = Vec::new();
        for key in memory.keys(None).await? {
            memories.push(format!("{key} {:?}", memory.get(&key).await?));
        }
        seen.push(format!(
            "{chat}: {:?} view {:?} archive {:?} notes {:?} records {} memory {memories:?}",
            history.state().await?,
            texts(history.messages().await?),
            texts(history.archive(1, 100).await?),
            notes.get().await?,
            agent.context().usage().records().await?.len(),
        ));
    }
    let mut keys = open(ambit, "a").await?.storage_keys().await?.items;
    keys.sort();
    let spent = ambit_storage::Usage::all(ambit).aggregate().await?;
    Ok(format!("{seen:#?} {keys:?} {spent:?}"))
}
