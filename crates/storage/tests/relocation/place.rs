//! An installation over drivers in memory that a test can look into, and a session with everything in it.

use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{
    ChatHistoryStorage, INLINE, Message, StorageKind, UsageRecord, UsageStorage,
};
use ambit_storage::{Agent, Ambit, Context, Json, SessionIdentity, Stores};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The agent whose drivers are the installation's.
struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

type AtPoint = Box<dyn FnMut(&'static str) + Send>;

/// Drivers `a`, `b` and `c`; they outlive the installations opened over them.
pub struct Place {
    pub clock: Clock,
    drivers: BTreeMap<&'static str, Arc<dyn Driver>>,
    at_point: Arc<Mutex<Option<AtPoint>>>,
}

impl Place {
    pub fn new() -> Self {
        let clock = Clock::default();
        let options = DriverOptions {
            clock: clock.clone(),
            ..DriverOptions::default()
        };
        let driver = |name| -> (&'static str, Arc<dyn Driver>) {
            (name, Arc::new(MemoryDriver::new(options.clone())))
        };
        Self {
            clock,
            drivers: ["a", "b", "c"].map(driver).into(),
            at_point: Arc::default(),
        }
    }

    pub fn driver(&self, name: &str) -> &Arc<dyn Driver> {
        &self.drivers[name]
    }

    /// Does this at each point that a write comes to.
    pub fn at_points(&self, work: impl FnMut(&'static str) + Send + 'static) {
        *self.at_point.lock().unwrap() = Some(Box::new(work));
    }

    /// Lets writes pass their points.
    pub fn pass_points(&self) {
        *self.at_point.lock().unwrap() = None;
    }

    /// An installation that keeps the index in these drivers, and everything else in those.
    pub fn open(&self, index: &[&str], data: &[&str]) -> Ambit {
        let at_point = Arc::clone(&self.at_point);
        let fault_points = FaultPoints::new(move |point| {
            // Taken out for the call: what it panics with must not poison the next one.
            let work = at_point.lock().unwrap().take();
            if let Some(mut work) = work {
                work(point);
                *at_point.lock().unwrap() = Some(work);
            }
        });
        let options = DriverOptions {
            clock: self.clock.clone(),
            fault_points,
            ..DriverOptions::default()
        };
        let mut builder = Stores::builder(options);
        for (name, driver) in &self.drivers {
            builder = builder.driver(*name, driver.clone());
        }
        builder = builder.default_drivers(index);
        for scope in [ChatHistoryStorage::PREFIX, UsageStorage::PREFIX] {
            builder = builder.scope_drivers(scope, data);
        }
        Ambit::builder(builder.build().unwrap())
            .agent(Support)
            .build()
    }
}

/// A session with messages short and long, a changed view, memory, usage and a turn that its node has left open.
pub async fn converse(ambit: &Ambit) {
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_user_id("ann")
        .await
        .unwrap();
    let (history, context) = (agent.history(), agent.context());
    for number in 0..150 {
        let text = format!("text {number}");
        history.add_message(Message::user(text)).await.unwrap();
    }
    let long = "long ".repeat(INLINE);
    history.add_message(Message::assistant(long)).await.unwrap();
    context.save().await.unwrap();
    let kept = history.tail(3).await.unwrap();
    history.replace_messages(kept).await.unwrap();
    let record = UsageRecord {
        prompt_tokens: 7,
        completion_tokens: 5,
        model_name: Some("m".to_owned()),
        ..UsageRecord::default()
    };
    context.usage().record(record).unwrap();
    context.save().await.unwrap();
    let memory = context.memory().unwrap();
    memory.incr("visits", 3.0).await.unwrap();
    for number in 0..70 {
        let name = format!("k{number}");
        memory.set(&name, &number, None).await.unwrap();
    }
    let (space, driver) = context.place();
    let keys = [
        Space::turns().key(format!("{}/r1", space.digest())),
        Space::requests("default").key("r1"),
    ];
    let note = |key| BatchWrite::apply(key, Operation::Set(Json::of(&true).unwrap().into()), None);
    driver.commit(Batch::of(keys.map(note))).await.unwrap();
}

/// The row of this scope.
pub async fn row(ambit: &Ambit, scope: &str) -> IndexRow {
    let query = Context::named(ambit, "Support").for_scope(scope);
    let rows = query.rows().next().await.unwrap().unwrap();
    rows.into_iter().next().expect("a row")
}

pub fn identity(scope: &str) -> SessionIdentity {
    let base = SessionIdentity::builder("Support").user_id("ann").build();
    base.unwrap().with_scope(scope).unwrap()
}

/// All that a driver holds of these spaces.
pub async fn held(driver: &dyn Driver, spaces: &[Space]) -> Vec<String> {
    let mut held = Vec::new();
    for space in spaces {
        let mut logs = driver.logs(space).await.unwrap();
        logs.sort();
        for name in logs {
            let page = driver
                .read(&space.log(name.as_str()), LogRange::from(1, 10_000))
                .await;
            held.push(format!("{name} {:?}", page.unwrap()));
        }
        let scan = ValueScan::first(Pattern::all(), 10_000, ValuePart::Whole);
        for (name, entry) in driver.scan(space, &scan).await.unwrap() {
            held.push(format!("{name} {entry:?}"));
        }
    }
    held
}

/// The spaces of the session's data, and those in which there is nothing else than what belongs to it.
pub fn spaces(scope: &str) -> Vec<Space> {
    let space = |scope| Space::of("default", &identity(scope));
    match scope {
        "chatHistory" => vec![
            space("chatHistory"),
            space("memory"),
            Space::turns(),
            Space::requests("default"),
        ],
        _ => vec![space(scope), Space::usage_sums("default")],
    }
}

/// What says that a move is under way.
pub async fn notes(driver: &dyn Driver) -> Vec<String> {
    let moves = Space {
        tenant: "default".to_owned(),
        path: "i:moves".to_owned(),
    };
    held(driver, &[moves]).await
}

/// Where each of the session's rows says that its data is, by scope.
pub async fn placements(driver: &dyn Driver) -> BTreeMap<String, Vec<String>> {
    let page = PageRequest {
        order: RowOrder::Oldest,
        after: None,
        limit: 100,
    };
    let rows = driver
        .identities(&RowFilter::default(), &page)
        .await
        .unwrap();
    let place = |row: IndexRow| (row.identity.scope().unwrap().to_owned(), row.placement);
    rows.into_iter().map(place).collect()
}
