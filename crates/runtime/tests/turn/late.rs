//! Turns of a node that is too busy to renew their leases in time.

use crate::place::{Place, agent, ask, borrowed, end, files, request, settings};
use ambit_runtime::Runtime;
use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, ValueEntry, WriteOutcome};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter};
use ambit_storage::driver::{
    self, DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart,
    ValueScan,
};
use ambit_storage::lease::LEASE_LIFE;
use ambit_storage::operation::Operation;
use ambit_storage::{Result, Stores};
use async_trait::async_trait;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// A store whose answer to the first commit of a turn is late.
struct Late {
    behind: Arc<dyn Driver>,
    /// Leases that were asked for.
    asked: AtomicU64,
    /// The first commit is done.
    begun: Semaphore,
    /// It is answered.
    answer: Semaphore,
    /// Steps of the walk over all open turns.
    looks: Semaphore,
}

impl Late {
    fn new(behind: Arc<dyn Driver>) -> Self {
        let none = || Semaphore::new(0);
        Self {
            behind,
            asked: AtomicU64::new(0),
            begun: none(),
            answer: none(),
            looks: none(),
        }
    }

    /// Waits until all open turns were looked at from the first one to the last.
    async fn looked(&self) {
        self.looks.forget_permits(usize::MAX);
        // The end of one walk, a whole one of two steps, and the next, which begins behind it.
        self.looks.acquire_many(4).await.unwrap().forget();
    }
}

#[async_trait]
impl Driver for Late {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        let has = |what: fn(&ValueKey, &Operation) -> bool| {
            let is_it = |write: &BatchWrite| matches!(write, BatchWrite::Apply { key, op, .. } if what(key, op));
            batch.writes.iter().any(is_it)
        };
        let asks = has(|_, op| matches!(op, Operation::Acquire { .. }));
        let begins = has(|key, op| key.space == Space::turns() && matches!(op, Operation::Set(_)));
        self.asked.fetch_add(u64::from(asks), Ordering::SeqCst);
        let done = self.behind.commit(batch).await;
        if begins {
            self.begun.add_permits(1);
            self.answer.acquire().await.unwrap().forget();
        }
        done
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.behind.read(log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        self.behind.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        if *space == Space::turns() && scan.pattern.is_all() {
            self.looks.add_permits(1);
        }
        self.behind.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.behind.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.behind.identities(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.behind.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.behind.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.behind.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.behind.check().await
    }

    fn kind(&self) -> &'static str {
        self.behind.kind()
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.behind.size().await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.behind.contents(kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.behind.close().await
    }
}

#[tokio::test(start_paused = true)]
async fn g019_a_node_does_not_take_up_its_own_turn_whose_lease_is_late() {
    let clock = Clock::default();
    let options = DriverOptions {
        clock: clock.clone(),
        ..DriverOptions::default()
    };
    let memory = driver::open("memory://", options.clone()).await.unwrap();
    let late = Arc::new(Late::new(memory));
    let app = files(&borrowed(&agent(&json!({}), "")));
    let stores = Stores::builder(options)
        .driver("late", late.clone())
        .build()
        .unwrap();
    let runtime = Runtime::open(settings(app.path(), stores)).await.unwrap();
    let place = Place { runtime, app };
    let held_up = async {
        late.begun.acquire().await.unwrap().forget();
        clock.advance(LEASE_LIFE);
        late.looked().await;
        assert_eq!(late.asked.load(Ordering::SeqCst), 1);
        clock.set_back(LEASE_LIFE);
        late.answer.add_permits(1);
    };
    let (frames, ()) = tokio::join!(ask(&place, request("hello", "hi")), held_up);
    assert_eq!(end(&frames)["status"], "completed");
    assert_eq!(late.asked.load(Ordering::SeqCst), 1);
}
