//! Chains: what success means, what a secondary that was away may still say, and who answers for a primary.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod erasures;
mod flaky;
mod lost;
mod random;
mod sessions;
mod support;

use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, Head};
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::chain::{ChainDriver, WritePolicy};
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json, Stores};
use flaky::Fault;
use futures::FutureExt;
use std::sync::Arc;
use support::*;

#[tokio::test]
async fn g029_success_means_that_every_driver_has_the_write() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    chain.commit(everything()).await.unwrap();
    pair.assert_equal().await;
    for (what, writes) in erasures() {
        chain
            .commit(Batch::of(writes))
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        pair.assert_equal().await;
        chain.commit(everything()).await.unwrap();
        pair.assert_equal().await;
    }
    let tombstones = ValueScan::first(Pattern::all(), 9, ValuePart::Whole);
    assert_eq!(
        chain
            .scan(&Space::tombstones("default"), &tombstones)
            .await
            .unwrap(),
        []
    );
    assert_eq!(chain.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn g029_one_driver_failing_is_named_and_repeating_the_call_finishes() {
    for fault in [Fault::Down, Fault::Writes, Fault::Answers] {
        let pair = Pair::new();
        let chain = pair.chain(WritePolicy::All);
        chain.commit(everything()).await.unwrap();
        let batch = || {
            Batch::of([
                append(&items(), "2"),
                append(&items(), "3"),
                set(&key(), "later"),
            ])
        };
        pair.second.fails(fault);
        let Err(Error::Partial { done, failed }) = chain.commit(batch()).await else {
            panic!("{fault:?} was not partial");
        };
        assert_eq!(
            (done, failed.len(), failed[0].0.as_str()),
            (vec!["first".to_owned()], 1, "second")
        );
        pair.second.fails(Fault::Nothing);
        chain.commit(batch()).await.unwrap();
        assert_eq!(ids(&*pair.second, &items()).await, ["1", "2", "3"]);
        pair.assert_equal().await;
    }
}

#[tokio::test]
async fn a_write_whose_caller_left_reaches_the_secondary() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::Primary);
    pair.second.fails(Fault::Held);
    let left = chain.commit(Batch::of([set(&key(), "v")])).now_or_never();
    assert!(left.is_none());
    let written = pair.first.get(&key(), ValuePart::Nothing).await;
    assert!(written.unwrap().is_some());
    pair.second.fails(Fault::Nothing);
    // Takes its turn behind the other write, and copies another value.
    let next = Batch::of([set(&space(0).key("l"), "w")]);
    chain.commit(next).await.unwrap();
    pair.assert_equal().await;
}

#[tokio::test]
async fn stores_are_closed_behind_a_write_whose_caller_left() {
    let pair = Pair::new();
    let stores = Stores::builder(DriverOptions::default()).driver("second", pair.second.clone());
    let stores = stores.default_drivers(&["memory"]).build().unwrap();
    let chain = stores.chain(&["memory", "second"]).unwrap();
    pair.second.fails(Fault::Held);
    let left = chain.driver().commit(Batch::of([set(&key(), "v")]));
    assert!(left.now_or_never().is_none());
    let mut closing = Box::pin(stores.close());
    assert!((&mut closing).now_or_never().is_none());
    pair.second.fails(Fault::Nothing);
    closing.await.unwrap();
    let written = pair.second.get(&key(), ValuePart::Whole).await.unwrap();
    let expected = Json::of("v").unwrap();
    assert_eq!(written.map(|entry| entry.value), Some(expected));
}

#[tokio::test]
async fn g032_a_primary_that_lost_its_copy_is_refilled_on_read() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    chain.commit(everything()).await.unwrap();
    let before = content(&*pair.second).await;
    pair.first.lose();
    assert_eq!(ids(&chain, &items()).await, ["1"]);
    assert_eq!(ids(&chain, &space(0).log("overlays")).await, ["1"]);
    for key in [key(), space(0).key("l"), space(1).key("list")] {
        assert!(
            chain.get(&key, ValuePart::Whole).await.unwrap().is_some(),
            "{key}"
        );
    }
    let exact = RowFilter {
        storage_key: Some(space(0).path),
        ..RowFilter::tenant("default")
    };
    assert_eq!(chain.identities(&exact, &ALL).await.unwrap().len(), 1);
    assert_eq!(content(&*pair.first).await, before);
    chain
        .commit(Batch::of([append(&items(), "2"), set(&key(), "newer")]))
        .await
        .unwrap();
    assert_eq!(ids(&*pair.first, &items()).await, ["1", "2"]);
    pair.assert_equal().await;
}

#[tokio::test]
async fn g032_an_append_without_a_read_goes_on_where_the_secondary_ends() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    chain.commit(everything()).await.unwrap();
    pair.first.lose();
    chain
        .commit(Batch::of([
            append(&items(), "2"),
            apply(
                &space(1).key("list"),
                Operation::Push(vec![Json::of(&2).unwrap()]),
            ),
        ]))
        .await
        .unwrap();
    assert_eq!(ids(&*pair.first, &items()).await, ["1", "2"]);
    let list = pair
        .second
        .get(&space(1).key("list"), ValuePart::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(list.value.as_str(), "[1,2]");
    assert_eq!(chain.repair().await.unwrap().failed, []);
    pair.assert_equal().await;
}

#[tokio::test]
async fn g022_absent_empty_and_failed_stay_three_results() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    assert_eq!(
        chain.read(&items(), LogRange::head()).await.unwrap().head,
        None
    );
    pair.second.fails(Fault::Down);
    assert_eq!(
        chain.read(&items(), LogRange::head()).await.unwrap().head,
        None
    );
    pair.second.fails(Fault::Nothing);
    chain
        .commit(Batch::of([
            append(&items(), "1"),
            BatchWrite::Clear { space: space(0) },
        ]))
        .await
        .unwrap();
    for driver in [&chain as &dyn Driver, &*pair.second] {
        let head = driver.read(&items(), LogRange::head()).await.unwrap().head;
        assert_eq!(head.map(|head| head.last), Some(0));
    }
    pair.first.fails(Fault::Down);
    pair.second.fails(Fault::Down);
    let failed = chain.read(&items(), LogRange::head()).await;
    assert!(
        matches!(failed, Err(Error::Unavailable { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn g033_a_primary_that_is_down_is_answered_for_with_a_mark_and_takes_no_write() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::Primary);
    chain.commit(everything()).await.unwrap();
    let before = content(&*pair.second).await;
    pair.first.fails(Fault::Down);
    let page = chain.read(&items(), LogRange::from(1, 9)).await.unwrap();
    assert!(page.stale_possible && page.entries.len() == 1);
    assert!(
        chain
            .get(&key(), ValuePart::Whole)
            .await
            .unwrap()
            .unwrap()
            .stale_possible
    );
    let scan = ValueScan::first(Pattern::all(), 9, ValuePart::Whole);
    let found = chain.scan(&space(0), &scan).await.unwrap();
    assert!(found.len() == 2 && found.iter().all(|(_, entry)| entry.stale_possible));
    assert_eq!(chain.count(&RowFilter::default()).await.unwrap(), 1);
    for write in [
        append(&items(), "2"),
        set(&key(), "no"),
        BatchWrite::Remove { space: space(0) },
        track(1),
    ] {
        let refused = chain.commit(Batch::of([write])).await;
        assert!(
            matches!(refused, Err(Error::Unavailable { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(content(&*pair.second).await, before);
    pair.first.fails(Fault::Nothing);
    assert!(
        !chain
            .read(&items(), LogRange::head())
            .await
            .unwrap()
            .stale_possible
    );
}

#[tokio::test]
async fn only_the_primary_judges_checks_and_operations() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    chain.commit(everything()).await.unwrap();
    let before = content(&*pair.second).await;
    let head = Some(Head::new(9, 9));
    let stale =
        Batch::of([append(&items(), "2")]).checking(BatchCheck::Head { log: items(), head });
    assert!(matches!(
        chain.commit(stale).await,
        Err(Error::Conflict { .. })
    ));
    let refused = chain
        .commit(Batch::of([
            append(&items(), "2"),
            apply(&key(), Operation::Incr(1.into())),
        ]))
        .await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert_eq!(content(&*pair.second).await, before);
    let lease = Operation::Acquire {
        holder: "me".to_owned(),
    };
    let write = BatchWrite::apply(space(0).lease(), lease, Some(1000));
    chain.commit(Batch::of([write])).await.unwrap();
    assert_eq!(
        pair.second
            .get(&space(0).lease(), ValuePart::Whole)
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn a_secondary_ahead_of_its_primary_is_reported_and_not_merged() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    chain.commit(everything()).await.unwrap();
    pair.second
        .commit(Batch::of([append(&items(), "ahead")]))
        .await
        .unwrap();
    let found = chain.check().await.unwrap();
    assert!(
        found.len() == 1 && found[0].contains("second") && found[0].contains("ahead"),
        "{found:?}"
    );
    assert_eq!(ids(&chain, &items()).await, ["1"]);
    pair.second
        .commit(Batch::of([append(&items(), "ahead-2")]))
        .await
        .unwrap();
    let Err(Error::Partial { failed, .. }) = chain.commit(Batch::of([append(&items(), "2")])).await
    else {
        panic!("it was merged");
    };
    assert!(failed[0].1.contains("doctor"), "{failed:?}");
    assert_eq!(ids(&*pair.first, &items()).await, ["1", "2"]);
    assert_eq!(
        ids(&*pair.second, &items()).await,
        ["1", "ahead", "ahead-2"]
    );
}

#[tokio::test]
async fn policy_primary_tells_what_secondaries_missed_and_repairs_it_later() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::Primary);
    pair.second.fails(Fault::Down);
    chain.commit(everything()).await.unwrap();
    let degraded = chain.degraded();
    assert!(
        degraded.len() == 1 && degraded[0].0 == "second" && degraded[0].1.contains("flaky"),
        "{degraded:?}"
    );
    assert_eq!(chain.degraded(), []);
    let while_down = chain.repair().await.unwrap();
    assert!(
        while_down.failed.iter().all(|(name, _)| name == "second") && !while_down.failed.is_empty()
    );
    pair.second.fails(Fault::Nothing);
    assert_eq!(chain.repair().await.unwrap().failed, []);
    assert_eq!(chain.repair_space(&space(1)).await.unwrap(), []);
    pair.assert_equal().await;
}

#[tokio::test]
async fn a_chain_names_its_drivers_in_order_and_refuses_none_or_one_twice() {
    let pair = Pair::new();
    assert_eq!(pair.chain(WritePolicy::All).names(), ["first", "second"]);
    assert!(matches!(
        ChainDriver::new(vec![], WritePolicy::All),
        Err(Error::Invalid { .. })
    ));
    let twice = vec![
        ("a".to_owned(), pair.first.clone() as Arc<dyn Driver>),
        ("a".to_owned(), pair.second),
    ];
    assert!(matches!(
        ChainDriver::new(twice, WritePolicy::All),
        Err(Error::Invalid { .. })
    ));
}
