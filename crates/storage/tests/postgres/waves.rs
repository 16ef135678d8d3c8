//! How often a commit waits for the server: the waves of statements that it sends.

use super::{entry, open, space};
use ambit_storage::Json;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::Driver;
use ambit_storage::json::StoredValue;
use ambit_storage::operation::Operation;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts the waves that the driver tells.
#[derive(Clone, Default)]
pub struct WaveCounter(Arc<AtomicU32>);

impl WaveCounter {
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Subscriber for WaveCounter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().ends_with("postgres::transaction")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn waves(driver: &Arc<dyn Driver>, batch: Batch) -> u32 {
    let counter = WaveCounter::default();
    let commit = driver.commit(batch).with_subscriber(counter.clone());
    commit.await.unwrap();
    counter.count()
}

fn apply(name: &str, op: Operation) -> BatchWrite {
    let hour = i64::try_from(Duration::from_secs(3_600).as_millis()).unwrap();
    BatchWrite::apply(space("waves").key(name), op, Some(hour))
}

fn plain(text: &str) -> StoredValue {
    StoredValue::Plain(Json::stored(text))
}

fn acquire() -> Operation {
    let holder = "node".to_owned();
    Operation::Acquire { holder }
}

fn append() -> BatchWrite {
    let entries = ["question", "answer"].map(|id| entry(id.to_owned()));
    BatchWrite::append(space("waves").log("items"), entries.to_vec())
}

pub async fn alone(url: String) {
    let driver = open(&url).await;
    let item = || vec![Json::stored("1")];
    for (waves_wanted, write) in [
        (1, append()),
        (1, apply("set", Operation::Set(plain("{}")))),
        (1, apply("set", Operation::Set(plain("[]")))),
        (1, apply("set", Operation::Del)),
        (1, apply("count", Operation::Incr(1.into()))),
        (1, apply("count", Operation::Incr(2.into()))),
        (3, apply("list", Operation::Push(item()))),
        (1, apply("list", Operation::Push(item()))),
        (1, apply("list", Operation::Pop)),
        (1, apply("lease", acquire())),
        (1, apply("lease", acquire())),
        (2, apply("list", Operation::PullAll)),
    ] {
        let what = format!("{write:?}");
        assert_eq!(
            waves(&driver, Batch::of([write])).await,
            waves_wanted,
            "{what}"
        );
    }
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
}

pub async fn together(url: String) {
    let driver = open(&url).await;
    // As a turn begins, and as it ends.
    let begins = [apply("lease", acquire()), append()];
    assert_eq!(waves(&driver, Batch::of(begins)).await, 1);
    let ends = [
        append(),
        apply("count", Operation::Incr(1.into())),
        apply("list", Operation::Push(vec![Json::stored("1")])),
        apply("state", Operation::Set(plain("1"))),
        apply("lease", Operation::Release { epoch: 1 }),
    ];
    assert_eq!(waves(&driver, Batch::of(ends)).await, 2);
    // What one operation leaves is what the next one meets.
    let same = [
        apply("state", Operation::Set(plain("7"))),
        apply("state", Operation::Incr(1.into())),
        apply("state", Operation::Incr(1.into())),
    ];
    assert_eq!(waves(&driver, Batch::of(same)).await, 3);
    let state = space("waves").key("state");
    let state = driver.get(&state, ambit_storage::driver::ValuePart::Whole);
    assert_eq!(state.await.unwrap().unwrap().value.as_str(), "9");
}
