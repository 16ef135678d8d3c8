//! How often a commit waits for the server, and how much it asks: the waves that it sends, and the statements in them.

use super::{entry, open, space};
use ambit_storage::Json;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::json::StoredValue;
use ambit_storage::operation::{Operation, OperationOutput};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts the waves that the driver tells, and their statements.
#[derive(Clone, Default)]
pub struct WaveCounter(Arc<SentCounts>);

#[derive(Default)]
struct SentCounts {
    waves: AtomicU32,
    statements: AtomicU64,
}

impl WaveCounter {
    /// Waves and statements.
    pub fn counts(&self) -> (u32, u64) {
        let waves = self.0.waves.load(Ordering::SeqCst);
        (waves, self.0.statements.load(Ordering::SeqCst))
    }
}

impl Visit for &SentCounts {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "statements" {
            self.statements.fetch_add(value, Ordering::SeqCst);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
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

    fn event(&self, event: &Event<'_>) {
        self.0.waves.fetch_add(1, Ordering::SeqCst);
        event.record(&mut &*self.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The waves and statements of a commit.
async fn sent(driver: &Arc<dyn Driver>, batch: Batch) -> (u32, u64) {
    let counter = WaveCounter::default();
    let commit = driver.commit(batch).with_subscriber(counter.clone());
    commit.await.unwrap();
    counter.counts()
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
    append_of(["question", "answer"])
}

fn append_of(ids: [&str; 2]) -> BatchWrite {
    let entries = ids.map(|id| entry(id.to_owned()));
    BatchWrite::append(space("waves").log("items"), entries.to_vec())
}

pub async fn alone(url: String) {
    let driver = open(&url).await;
    let item = || vec![Json::stored("1")];
    // What needs no look at the value is one statement, which is a transaction of its own.
    let (once, looked) = ((1, 1), (2, 5));
    for (wanted, write) in [
        (once, append()),
        (once, apply("set", Operation::Set(plain("{}")))),
        (once, apply("set", Operation::Set(plain("[]")))),
        (once, apply("set", Operation::Del)),
        (once, apply("count", Operation::Incr(1.into()))),
        (once, apply("count", Operation::Incr(2.into()))),
        // It is looked for in vain first.
        ((3, 6), apply("list", Operation::Push(item()))),
        (once, apply("list", Operation::Push(item()))),
        (once, apply("list", Operation::Pop)),
        (once, apply("lease", acquire())),
        (once, apply("lease", acquire())),
        (looked, apply("list", Operation::PullAll)),
    ] {
        let what = format!("{write:?}");
        assert_eq!(sent(&driver, Batch::of([write])).await, wanted, "{what}");
    }
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
}

pub async fn together(url: String) {
    let driver = open(&url).await;
    // As a turn begins, and as it ends.
    let begins = [append(), apply("lease", acquire())];
    let begun = driver.commit(Batch::of(begins)).await.unwrap();
    let Some(WriteOutcome::Applied {
        output: OperationOutput::Epoch(epoch),
        ..
    }) = begun.last()
    else {
        panic!("{begun:?}");
    };
    let lease = space("waves").key("lease");
    let held = BatchCheck::Lease {
        key: lease.clone(),
        epoch: *epoch,
    };
    let goes_on = Batch::of([append(), apply("state", Operation::Set(plain("1")))]);
    assert_eq!(sent(&driver, goes_on.checking(held.clone())).await, (1, 1));
    let ends = Batch::of([
        append_of(["call", "result"]),
        append_of(["result", "end"]),
        apply("state", Operation::Set(plain("2"))),
        apply("first", Operation::Del),
        apply("second", Operation::Del),
        apply("lease", Operation::Release { epoch: *epoch }),
    ]);
    assert_eq!(sent(&driver, ends.checking(held)).await, (1, 1));
    assert_eq!(driver.get(&lease, ValuePart::Whole).await.unwrap(), None);
    let looked = [
        append(),
        apply("count", Operation::Incr(1.into())),
        apply("list", Operation::Push(vec![Json::stored("1")])),
        apply("state", Operation::Set(plain("1"))),
    ];
    assert_eq!(sent(&driver, Batch::of(looked)).await, (2, 6));
    // What one operation leaves is what the next one meets.
    let same = [
        apply("state", Operation::Set(plain("7"))),
        apply("state", Operation::Incr(1.into())),
        apply("state", Operation::Incr(1.into())),
    ];
    assert_eq!(sent(&driver, Batch::of(same)).await.0, 3);
    let state = space("waves").key("state");
    let state = driver.get(&state, ValuePart::Whole);
    assert_eq!(state.await.unwrap().unwrap().value.as_str(), "9");
}
