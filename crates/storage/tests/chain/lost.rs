//! A primary that lost all it had, and gives out its numbers anew: rows of both ages stay.

use super::support::*;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::chain::{ChainDriver, WritePolicy};
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use std::sync::Arc;

/// A chain whose secondary alone knows of session 0.
async fn lost() -> (Pair, ChainDriver) {
    let before = Pair::new();
    let first = Batch::of([track(0), append(&items(), "1")]);
    before.chain(WritePolicy::All).commit(first).await.unwrap();
    let pair = Pair {
        second: Arc::clone(&before.second),
        ..Pair::new()
    };
    let chain = pair.chain(WritePolicy::All);
    (pair, chain)
}

async fn rows(driver: &dyn Driver) -> Vec<String> {
    let rows = driver
        .identities(&RowFilter::default(), &ALL)
        .await
        .unwrap();
    let mut ids: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn g032_new_and_refilled_rows_with_one_ordinal_both_stay() {
    let (pair, chain) = lost().await;
    let log = |at: usize| space(at).log("items");
    for id in ["2", "3"] {
        let new = Batch::of([track(1), append(&log(1), id)]);
        chain.commit(new).await.unwrap();
        let old = Batch::of([append(&log(0), id)]);
        chain.commit(old).await.unwrap();
    }
    for driver in [&pair.first, &pair.second] {
        assert_eq!(rows(&**driver).await, ["row-0", "row-1"]);
        assert_eq!(ids(&**driver, &log(0)).await, ["1", "2", "3"]);
        assert_eq!(ids(&**driver, &log(1)).await, ["2", "3"]);
    }
    assert_eq!(chain.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn g032_a_list_of_names_gives_back_what_the_primary_lost() {
    let pair = Pair::new();
    let chain = pair.chain(WritePolicy::All);
    let keys = ["a1", "a2", "a3", "b"].map(|name| space(0).key(name));
    let written = keys.iter().map(|key| set(key, "x"));
    chain.commit(Batch::of(written)).await.unwrap();
    let gone = Batch::of([apply(&keys[1], Operation::Del)]);
    chain.commit(gone).await.unwrap();
    pair.first.lose();
    let scan = ValueScan::first(Pattern::parse("a*"), 10, ValuePart::Nothing);
    let found = chain.scan(&space(0), &scan).await.unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a1", "a3"]);
}

#[tokio::test]
async fn a_condition_on_a_row_that_the_primary_lost_is_judged_on_what_it_gets_back() {
    let (pair, chain) = lost().await;
    let seen = pair.second.identities(&RowFilter::default(), &ALL).await;
    let seen: Vec<IndexRow> = seen.unwrap();
    let untrack = BatchWrite::untrack("default", "row-0");
    let under = |mark| {
        let check = BatchCheck::row(space(0), mark);
        Batch::of([untrack.clone()]).checking(check)
    };
    let refused = chain.commit(under(None)).await.unwrap_err().to_string();
    let known = format!(
        "the index row of {} changed since it was read: expected nothing, found {:?}",
        space(0),
        seen[0].mark()
    );
    assert_eq!(refused, known);
    chain.commit(under(Some(seen[0].mark()))).await.unwrap();
    for driver in [&pair.first, &pair.second] {
        assert_eq!(rows(&**driver).await, Vec::<String>::new());
    }
}
