//! What stores count of their commits and of the leases of conversations.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, NewEntry};
use ambit_storage::clock::Clock;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{CommitCounts, DriverOptions};
use ambit_storage::lease::{LeaseEnd, OnBusy};
use ambit_storage::{Agent, Ambit, Json, Stores};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

fn stores(clock: &Clock) -> Stores {
    let options = DriverOptions {
        clock: clock.clone(),
        ..DriverOptions::default()
    };
    let second = Arc::new(MemoryDriver::new(options.clone()));
    let stores = Stores::builder(options).driver("second", second);
    stores.default_drivers(&["memory"]).build().unwrap()
}

/// The ways in which commits have ended, and how many of each.
fn results(counts: &CommitCounts) -> BTreeMap<&'static str, u64> {
    let results = counts.results.iter();
    results
        .map(|(result, count)| (result.as_str(), *count))
        .collect()
}

#[tokio::test]
async fn commits_count_by_store_and_by_how_they_end() {
    let stores = stores(&Clock::default());
    let chain = stores.chain(&["memory", "second"]).unwrap();
    let log = Space::user_memory("default", "ann").log("log");
    let entry = NewEntry::new("1", Json::of(&1).unwrap());
    let append = BatchWrite::append(log.clone(), vec![entry]);
    let first = Batch::of([append]).checking(BatchCheck::head(log, None));
    chain.driver().commit(first.clone()).await.unwrap();
    chain.driver().commit(first.clone()).await.unwrap_err();
    let counts = stores.commit_counts();
    assert_eq!(
        counts.keys().collect::<Vec<_>>(),
        ["memory", "memory+second", "second"]
    );
    for store in ["memory", "memory+second"] {
        let counts = &counts[store];
        let expected = BTreeMap::from([("ok", 1), ("conflict", 1)]);
        assert_eq!(results(counts), expected, "{store}");
        assert_eq!(counts.times.buckets.iter().sum::<u64>(), 2, "{store}");
        assert_eq!(counts.under_way, 0, "{store}");
    }
    stores.close().await.unwrap();
    chain.driver().commit(first).await.unwrap_err();
    assert_eq!(
        results(&stores.commit_counts()["memory+second"])["unavailable"],
        1
    );
}

#[tokio::test]
async fn conversations_count_while_they_are_held_and_when_they_are_lost() {
    let clock = Clock::default();
    let stores = Arc::new(stores(&clock));
    let ambit = Ambit::builder(stores.clone()).agent(Support).build();
    let agent = ambit.agent("Support").unwrap();
    let session = agent.for_chat("one").await.unwrap();
    let context = session.context();
    let counted = || {
        let counts = stores.lease_counts();
        let waits = counts.waits.buckets.iter().sum::<u64>();
        [counts.held, counts.lost, waits]
    };
    context.begin_turn(OnBusy::Reject).await.unwrap();
    assert!(!context.lease().unwrap().has_waited());
    assert_eq!(counted(), [1, 0, 1]);
    let other = agent.for_chat("one").await.unwrap();
    let refused = other.context().begin_turn(OnBusy::Reject).await;
    assert!(refused.is_err());
    assert_eq!(counted(), [1, 0, 1]);
    context.end_turn().await.unwrap();
    assert_eq!(counted(), [0, 0, 1]);

    context.begin_turn(OnBusy::Reject).await.unwrap();
    clock.advance(Duration::from_secs(60));
    other.context().begin_turn(OnBusy::Reject).await.unwrap();
    assert_eq!(context.lease().unwrap().ended().await, LeaseEnd::Lost);
    drop(session);
    other.context().end_turn().await.unwrap();
    assert_eq!(counted(), [0, 1, 3]);
}
