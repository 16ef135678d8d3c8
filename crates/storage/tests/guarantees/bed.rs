//! What a case stands on: a fresh store under the name `main`, and installations over it.

use crate::agents::Plain;
use crate::stores::{Fresh, Store};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder, TrackRequest};
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{Message, StorageKind, UsageRecord};
use ambit_storage::{
    Ambit, AmbitBuilder, Error, LiveAgent, Result, SessionIdentity, Stores, StoresBuilder,
};
use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One promise.
pub struct Case {
    pub name: &'static str,
    pub run: fn(Bed) -> BoxFuture<'static, ()>,
}

pub struct Bed {
    pub fresh: Fresh,
    pub driver: Arc<dyn Driver>,
}

/// A storage of the application's own.
pub struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = String;
}

impl Bed {
    pub async fn new(store: &'static Store) -> Self {
        let fresh = store.fresh();
        let driver = fresh.open().await;
        Self { fresh, driver }
    }

    pub fn clock(&self) -> Clock {
        self.fresh.clock()
    }

    pub fn options(&self) -> DriverOptions {
        DriverOptions {
            clock: self.clock(),
            ..DriverOptions::default()
        }
    }

    pub fn stores(&self) -> StoresBuilder {
        Stores::builder(self.options()).driver("main", self.driver.clone())
    }

    /// An installation of the agents `Support` and `Sales` over the store alone.
    pub fn ambit(&self) -> Ambit {
        self.over(self.driver.clone())
    }

    /// The same over a driver that stands in for the store.
    pub fn over(&self, driver: Arc<dyn Driver>) -> Ambit {
        let stores = Stores::builder(self.options()).driver("main", driver);
        with_agents(stores).build()
    }

    /// True where the store promises correctness at small sizes only.
    pub fn is_small(&self) -> bool {
        self.fresh.is_small()
    }

    /// As many as the store can have, up to this.
    pub fn many(&self, wanted: usize) -> usize {
        if self.is_small() {
            wanted.min(300)
        } else {
            wanted
        }
    }

    /// Tracks so many histories of `Support`, of chats `c0` …, without any data.
    pub async fn track(&self, count: usize) {
        let driver = &self.driver;
        let write = |number| {
            let base = SessionIdentity::builder("Support").chat_name(format!("c{number}"));
            let base = base.build().unwrap();
            BatchWrite::Track(Box::new(TrackRequest {
                id: format!("row{number}"),
                tenant: DEFAULT_TENANT.to_owned(),
                identity: base.with_scope("chatHistory").unwrap(),
                agent: "Support".to_owned(),
                base,
                placement: vec!["main".to_owned()],
                created_by: None,
                team: None,
                labels: BTreeMap::new(),
            }))
        };
        let batch = Batch::of((0..count).map(write));
        driver.commit(batch).await.unwrap();
    }

    /// Everything of these spaces and of all tracked identities, as a reader of the store sees it.
    pub async fn snapshot(&self) -> BTreeMap<String, String> {
        snapshot(self.driver.as_ref()).await
    }
}

pub fn with_agents(stores: StoresBuilder) -> AmbitBuilder {
    let builder = Ambit::builder(stores.build().unwrap());
    builder.agent(Plain("Support")).agent(Plain("Sales"))
}

/// The index rows of all tenants.
pub async fn rows(driver: &dyn Driver) -> Vec<IndexRow> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest {
            order: RowOrder::Oldest,
            after,
            limit: 1_000,
        };
        let found = driver
            .identities(&RowFilter::default(), &page)
            .await
            .unwrap();
        after = found.last().map(IndexRow::position);
        if found.is_empty() {
            return rows;
        }
        rows.extend(found);
    }
}

/// Rows, logs and values of all tracked identities, and the usage sums.
pub async fn snapshot(driver: &dyn Driver) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut spaces = BTreeSet::from([Space::usage_sums(DEFAULT_TENANT)]);
    for row in rows(driver).await {
        spaces.insert(Space::of(&row.tenant, &row.identity));
        let name = format!("row {} {}", row.tenant, row.identity.storage_key());
        found.insert(name, format!("{row:?}"));
    }
    for space in spaces {
        contents(driver, &space, &mut found).await;
    }
    found
}

pub async fn contents(driver: &dyn Driver, space: &Space, found: &mut BTreeMap<String, String>) {
    for name in driver.logs(space).await.unwrap() {
        let range = LogRange::from(1, usize::MAX >> 1);
        let page = driver.read(&space.log(&name), range).await.unwrap();
        found.insert(format!("log {space}#{name}"), format!("{page:?}"));
    }
    let scan = ValueScan::first(Pattern::all(), 100_000, ValuePart::Whole);
    for (name, entry) in driver.scan(space, &scan).await.unwrap() {
        found.insert(format!("value {space}#{name}"), format!("{entry:?}"));
    }
}

/// A chat of `Support` that was saved with these messages.
pub async fn chat(ambit: &Ambit, name: &str, texts: &[&str]) -> LiveAgent {
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_chat(name)
        .await
        .unwrap();
    say(&agent, texts).await;
    agent
}

/// Adds and saves messages.
pub async fn say(agent: &LiveAgent, texts: &[&str]) {
    for text in texts {
        agent
            .history()
            .add_message(Message::user(*text))
            .await
            .unwrap();
    }
    agent.context().save().await.unwrap();
}

/// Adds a record of so many tokens for the request, and one for the answer.
pub fn spend(agent: &LiveAgent, tokens: i64) -> UsageRecord {
    let record = UsageRecord {
        prompt_tokens: tokens,
        completion_tokens: 1,
        model_name: Some("m".to_owned()),
        ..UsageRecord::default()
    };
    agent.context().usage().record(record).unwrap().unwrap()
}

/// The texts of the view.
pub async fn heard(agent: &LiveAgent) -> Vec<String> {
    let messages = agent.history().messages().await.unwrap();
    messages.iter().map(Message::text).collect()
}

/// The field that an `Invalid` names; anything else fails.
#[track_caller]
pub fn invalid<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Invalid { field, .. }) => field,
        other => panic!("Invalid was expected, not {other:?}"),
    }
}
