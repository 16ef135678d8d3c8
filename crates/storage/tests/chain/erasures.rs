//! What was erased stays erased, whoever was away.

use super::flaky::{Fault, Flaky};
use super::support::*;
use ambit_storage::Error;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::chain::{ChainDriver, WritePolicy};
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use std::sync::Arc;

#[tokio::test]
async fn g029_an_erasure_that_missed_a_driver_is_finished_by_repeating_it() {
    for (what, writes) in erasures() {
        let pair = Pair::new();
        let chain = pair.chain(WritePolicy::All);
        chain.commit(everything()).await.unwrap();
        pair.second.fails(Fault::Down);
        let missed = chain.commit(Batch::of(writes.clone())).await;
        assert!(
            matches!(missed, Err(Error::Partial { .. })),
            "{what}: {missed:?}"
        );
        pair.second.fails(Fault::Nothing);
        chain.commit(Batch::of(writes)).await.unwrap();
        pair.assert_equal().await;
    }
}

#[tokio::test]
async fn g030_what_was_erased_while_a_secondary_was_down_never_comes_back() {
    for policy in [WritePolicy::All, WritePolicy::Primary] {
        for (what, writes) in erasures() {
            let pair = Pair::new();
            pair.chain(policy).commit(everything()).await.unwrap();
            pair.second.fails(Fault::Down);
            let missed = pair.chain(policy).commit(Batch::of(writes)).await;
            assert_eq!(missed.is_ok(), policy == WritePolicy::Primary, "{what}");
            let erased = content(&*pair.first).await;
            pair.second.fails(Fault::Nothing);
            let chain = pair.chain(policy);
            for log in [items(), space(0).log("overlays")] {
                chain.read(&log, LogRange::from(1, 9)).await.unwrap();
            }
            chain.get(&key(), ValuePart::Whole).await.unwrap();
            let exact = RowFilter {
                storage_key: Some(space(0).path),
                ..RowFilter::tenant("default")
            };
            chain.identities(&exact, &ALL).await.unwrap();
            let now = content(&*pair.first).await;
            // Everything but the note that the secondary owes, which comes before the rows.
            assert_eq!(
                now[..now.len() - 2],
                erased[..erased.len() - 2],
                "{what} {policy:?}"
            );
            assert_eq!(now.last(), erased.last(), "{what} {policy:?}");
            chain.repair_space(&space(0)).await.unwrap();
            pair.assert_equal().await;
        }
    }
}

#[tokio::test]
async fn g030_a_secondary_that_missed_an_erasure_does_not_answer_for_the_primary() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::Primary);
    chain.commit(everything()).await.unwrap();
    pair.second.fails(Fault::Down);
    chain
        .commit(Batch::of([BatchWrite::Remove { space: space(0) }]))
        .await
        .unwrap();
    pair.second.fails(Fault::Nothing);
    pair.first.fails(Fault::Down);
    for answer in [
        chain.read(&items(), LogRange::head()).await.map(drop),
        chain.get(&key(), ValuePart::Whole).await.map(drop),
    ] {
        assert!(
            matches!(answer, Err(Error::Unavailable { .. })),
            "{answer:?}"
        );
    }
    pair.first.fails(Fault::Nothing);
    assert_eq!(
        chain.read(&items(), LogRange::head()).await.unwrap().head,
        None
    );
    assert_eq!(
        pair.second.logs(&space(0)).await.unwrap(),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn g030_a_fresh_process_lists_no_row_that_another_secondary_knows_to_be_erased() {
    let drivers = ["first", "second", "third"].map(|name| (name, Arc::new(Flaky::new())));
    let chain = || {
        let members = drivers.iter().map(|(name, driver)| {
            let driver: Arc<dyn Driver> = driver.clone();
            ((*name).to_owned(), driver)
        });
        ChainDriver::new(members.collect(), WritePolicy::Primary).unwrap()
    };
    let rows = Batch::of([track(0), append(&items(), "1"), track(1)]);
    chain().commit(rows).await.unwrap();
    drivers[1].1.fails(Fault::Down);
    let untrack = BatchWrite::untrack("default", "row-0");
    let gone = Batch::of([BatchWrite::Remove { space: space(0) }, untrack]);
    chain().commit(gone).await.unwrap();
    drivers[1].1.fails(Fault::Nothing);
    drivers[0].1.fails(Fault::Down);
    let found = chain()
        .identities(&RowFilter::default(), &ALL)
        .await
        .unwrap();
    let ids: Vec<&str> = found.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["row-1"]);
}

#[tokio::test]
async fn g030_an_older_generation_is_replaced_by_the_next_append() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::Primary);
    chain.commit(everything()).await.unwrap();
    pair.second.fails(Fault::Writes);
    chain
        .commit(Batch::of([BatchWrite::Clear { space: space(0) }]))
        .await
        .unwrap();
    chain
        .commit(Batch::of([append(&items(), "new")]))
        .await
        .unwrap();
    pair.second.fails(Fault::Nothing);
    chain
        .commit(Batch::of([append(&items(), "newer")]))
        .await
        .unwrap();
    assert_eq!(ids(&*pair.second, &items()).await, ["new", "newer"]);
    pair.assert_equal().await;
}
