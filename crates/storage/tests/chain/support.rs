//! Two drivers that fail on demand, and what is written to a chain of them.

use super::flaky::Flaky;
use ambit_storage::address::{ITEMS, LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder, TrackRequest};
use ambit_storage::driver::chain::{ChainDriver, WritePolicy};
use ambit_storage::driver::{Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, SessionIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const ALL: PageRequest = PageRequest {
    order: RowOrder::Oldest,
    after: None,
    limit: 100,
};

/// Two drivers, and chains over them.
pub struct Pair {
    pub first: Arc<Flaky>,
    pub second: Arc<Flaky>,
}

impl Pair {
    pub fn new() -> Self {
        Self {
            first: Arc::new(Flaky::new()),
            second: Arc::new(Flaky::new()),
        }
    }

    /// A new chain, as after a restart of the process.
    pub fn chain(&self, policy: WritePolicy) -> ChainDriver {
        let (first, second): (Arc<dyn Driver>, Arc<dyn Driver>) =
            (self.first.clone(), self.second.clone());
        ChainDriver::new(
            vec![("first".to_owned(), first), ("second".to_owned(), second)],
            policy,
        )
        .unwrap()
    }

    pub async fn assert_equal(&self) {
        assert_eq!(content(&*self.second).await, content(&*self.first).await);
    }
}

pub fn identity(at: usize) -> SessionIdentity {
    let built = SessionIdentity::builder("agent")
        .chat_name(at.to_string())
        .build();
    built.unwrap().with_scope("chatHistory").unwrap()
}

pub fn space(at: usize) -> Space {
    Space::of("default", &identity(at))
}

pub fn items() -> LogKey {
    space(0).log(ITEMS)
}

pub fn key() -> ValueKey {
    space(0).key("k")
}

pub fn append(log: &LogKey, id: &str) -> BatchWrite {
    let body = Json::of(&format!("text of {id}")).unwrap();
    BatchWrite::append(log.clone(), vec![NewEntry::new(id, body)])
}

pub fn apply(key: &ValueKey, op: Operation) -> BatchWrite {
    BatchWrite::apply(key.clone(), op, None)
}

pub fn set(key: &ValueKey, text: &str) -> BatchWrite {
    apply(key, Operation::Set(Json::of(text).unwrap().into()))
}

pub fn track(at: usize) -> BatchWrite {
    BatchWrite::Track(Box::new(TrackRequest {
        id: format!("row-{at}"),
        tenant: "default".to_owned(),
        base: identity(at).base(),
        identity: identity(at),
        agent: "agent".to_owned(),
        placement: vec!["first".to_owned(), "second".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    }))
}

/// All that a driver says about the spaces of these tests, notes of erasures included.
pub async fn content(driver: &dyn Driver) -> Vec<String> {
    let mut said = Vec::new();
    let spaces = [space(0), space(1), space(2), Space::tombstones("default")];
    for space in &spaces {
        for name in driver.logs(space).await.unwrap() {
            let page = driver
                .read(&space.log(name.as_str()), LogRange::from(1, 1000))
                .await
                .unwrap();
            said.push(format!("{name} {page:?}"));
        }
        let scan = ValueScan::first(Pattern::all(), 100, ValuePart::Whole);
        said.push(format!("{:?}", driver.scan(space, &scan).await.unwrap()));
    }
    said.push(format!(
        "{:?}",
        driver
            .identities(&RowFilter::default(), &ALL)
            .await
            .unwrap()
    ));
    said
}

pub async fn ids(driver: &dyn Driver, log: &LogKey) -> Vec<String> {
    let page = driver.read(log, LogRange::from(1, 1000)).await.unwrap();
    page.entries.into_iter().map(|entry| entry.id).collect()
}

pub fn everything() -> Batch {
    let other = space(0).log("overlays");
    Batch::of([
        track(0),
        append(&items(), "1"),
        append(&other, "1"),
        set(&key(), "v"),
        set(&space(0).key("l"), "w"),
        apply(
            &space(1).key("list"),
            Operation::Push(vec![Json::of(&1).unwrap()]),
        ),
    ])
}

pub fn erasures() -> Vec<(&'static str, Vec<BatchWrite>)> {
    let bodies = vec![(1, Json::of("forgotten").unwrap())];
    vec![
        ("drop", vec![BatchWrite::Drop { log: items() }]),
        (
            "drop and begin again",
            vec![BatchWrite::Drop { log: items() }, append(&items(), "new")],
        ),
        ("clear", vec![BatchWrite::Clear { space: space(0) }]),
        (
            "remove",
            vec![
                BatchWrite::Remove { space: space(0) },
                BatchWrite::untrack("default", "row-0"),
            ],
        ),
        (
            "remove and begin again",
            vec![
                BatchWrite::Remove { space: space(0) },
                append(&items(), "new"),
            ],
        ),
        (
            "wipe",
            vec![BatchWrite::Wipe {
                space: space(0),
                pattern: Pattern::all(),
            }],
        ),
        ("delete", vec![apply(&key(), Operation::Del)]),
        ("take", vec![apply(&key(), Operation::GetDel)]),
        ("redact", vec![BatchWrite::redact(items(), bodies)]),
        ("untrack", vec![BatchWrite::untrack("default", "row-0")]),
    ]
}
