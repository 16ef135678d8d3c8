//! Many writers at once, on several handles of one store.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::Result;
use crate::address::DEFAULT_TENANT;
use crate::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use crate::directory::{RowFilter, RowOrder};
use crate::operation::Operation;
use crate::operation::OperationOutput::{self, Number, Taken};
use futures::future::join_all;
use std::collections::BTreeSet;

pub(super) const CASES: &[ConformanceCase] = cases![
    two_batches_on_one_version_have_one_winner,
    two_batches_on_one_head_have_one_winner,
    one_of_many_takes_a_free_lease,
    g006_first_messages_at_once_make_one_row,
    g005_appends_at_once_are_all_stored_once,
    g011_writers_of_different_keys_never_conflict,
    g093_increments_at_once_are_all_counted,
    g097_an_item_is_popped_by_one_consumer,
    g097_a_value_is_taken_by_one_caller,
    g098_writers_of_a_set_leave_no_duplicate,
    batches_over_the_same_keys_in_any_order_all_succeed,
];

const HANDLES: usize = 4;

/// So many batches at once, spread over several handles; their results in the order of the numbers.
async fn at_once(
    store: &TestStore,
    count: usize,
    batch: impl Fn(usize) -> Batch,
) -> Vec<Result<Vec<WriteOutcome>>> {
    let mut handles = Vec::new();
    for _ in 0..HANDLES {
        handles.push(store.open().await);
    }
    let tasks = (0..count).map(|number| {
        let (store, batch) = (handles[number % HANDLES].clone(), batch(number));
        tokio::spawn(async move { store.commit(batch).await })
    });
    let results = join_all(tasks).await;
    results
        .into_iter()
        .map(|result| match result {
            Ok(result) => result,
            Err(error) => panic!("a writer panicked: {error}"),
        })
        .collect()
}

fn outputs(results: Vec<Result<Vec<WriteOutcome>>>) -> Vec<OperationOutput> {
    results.into_iter().flat_map(must).map(output).collect()
}

async fn winners(store: &TestStore, check: BatchCheck, conflict: &str) -> Vec<String> {
    let log = space("s").log("items");
    let results = at_once(store, 8, |number| {
        let id = format!("id{number}");
        let writes = [
            append(&log, &[(&id, "1")]),
            apply(&space("s").key("k"), incr(1)),
        ];
        Batch::of(writes).checking(check.clone())
    })
    .await;
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(error.to_string().contains(conflict), "{error}");
    }
    let won = results.iter().enumerate();
    let won: Vec<String> = won
        .filter(|(_, result)| result.is_ok())
        .map(|(number, _)| format!("id{number}"))
        .collect();
    let stored = store.entries(&log).await;
    let stored: Vec<String> = stored.into_iter().map(|(_, id, _)| id).collect();
    assert_eq!(stored, won);
    won
}

async fn two_batches_on_one_version_have_one_winner(store: TestStore) {
    let key = space("s").key("k");
    let version = store.version_after(&key, set("10")).await;
    let check = BatchCheck::version(key.clone(), Some(version));
    let won = winners(&store, check, "changed since it was read").await;
    assert_eq!(won.len(), 1);
    assert_eq!(store.text(&key).await.as_deref(), Some("11"));
}

async fn two_batches_on_one_head_have_one_winner(store: TestStore) {
    let check = BatchCheck::head(space("s").log("items"), None);
    let won = winners(&store, check, "changed since it was read").await;
    assert_eq!(won.len(), 1);
}

async fn one_of_many_takes_a_free_lease(store: TestStore) {
    let lease = space("s").lease();
    let results = at_once(&store, 8, |number| {
        let take = acquire(&format!("holder{number}"));
        Batch::of([apply_for(&lease, take, HOUR)])
    })
    .await;
    let (granted, busy): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((granted.len(), busy.len()), (1, 7));
    for result in busy {
        let error = refusal(result);
        assert!(
            error.starts_with("lease is busy: held by holder"),
            "{error}"
        );
    }
}

async fn g006_first_messages_at_once_make_one_row(store: TestStore) {
    let identity = identity("s");
    let log = space("s").log("items");
    let results = at_once(&store, 50, |number| {
        let (row, id) = (format!("row{number}"), format!("id{number}"));
        Batch::of([track(&row, &identity), append(&log, &[(&id, "1")])])
    })
    .await;
    let made = results.into_iter().flat_map(must);
    let made = made.filter(|outcome| matches!(outcome, WriteOutcome::Tracked { is_new: true, .. }));
    assert_eq!(made.count(), 1);
    let rows = store
        .rows(&RowFilter::tenant(DEFAULT_TENANT), RowOrder::Oldest)
        .await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].items, 50);
    let stored = store.entries(&log).await;
    let seqs: Vec<u64> = stored.iter().map(|(seq, _, _)| *seq).collect();
    assert_eq!(seqs, (1..=50).collect::<Vec<u64>>());
    let ids: BTreeSet<&str> = stored.iter().map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(ids.len(), 50);
}

async fn g005_appends_at_once_are_all_stored_once(store: TestStore) {
    let log = space("s").log("items");
    let results = at_once(&store, 60, |number| {
        let id = format!("result{}", number % 30);
        Batch::of([append(&log, &[(&id, &number.to_string())])])
    })
    .await;
    let told: Vec<u64> = results
        .into_iter()
        .flat_map(must)
        .flat_map(|outcome| match outcome {
            WriteOutcome::Appended { seqs, .. } => seqs,
            other => panic!("{other:?} is no append"),
        })
        .collect();
    let stored = store.entries(&log).await;
    assert_eq!(stored.len(), 30);
    for (number, seq) in told.iter().enumerate() {
        let (found, id, _) = &stored[*seq as usize - 1];
        assert_eq!((*found, id), (*seq, &format!("result{}", number % 30)));
    }
}

async fn g011_writers_of_different_keys_never_conflict(store: TestStore) {
    let here = space("s");
    store.append(&here.log("items"), &[("a", "1")]).await;
    let seen = store.head(&here.log("items")).await;
    let results = at_once(&store, 40, |number| {
        let key = here.key(format!("key{number:02}"));
        let unchanged = BatchCheck::version(key.clone(), None);
        let turn = BatchCheck::head(here.log("items"), seen);
        Batch::of([apply(&key, set(&number.to_string()))])
            .checking(unchanged)
            .checking(turn)
    })
    .await;
    results.into_iter().for_each(|result| drop(must(result)));
    let expected: Vec<(String, String)> = (0..40)
        .map(|number| (format!("key{number:02}"), number.to_string()))
        .collect();
    assert_eq!(store.values(&here, "*").await, expected);
}

async fn g093_increments_at_once_are_all_counted(store: TestStore) {
    let key = space("s").key("k");
    let results = at_once(&store, 100, |_| Batch::of([apply(&key, incr(1))])).await;
    let mut answers: Vec<u64> = outputs(results)
        .into_iter()
        .map(|output| match output {
            Number(number) => must(number.to()),
            other => panic!("{other:?} is no number"),
        })
        .collect();
    answers.sort_unstable();
    assert_eq!(answers, (1..=100).collect::<Vec<u64>>());
    assert_eq!(store.text(&key).await.as_deref(), Some("100"));
}

async fn g097_an_item_is_popped_by_one_consumer(store: TestStore) {
    let key = space("s").key("k");
    let items = (0..90).map(|number| json(&number.to_string())).collect();
    store.act(&key, Operation::Push(items)).await;
    let results = at_once(&store, 100, |_| Batch::of([apply(&key, Operation::Pop)])).await;
    let mut taken: Vec<u64> = outputs(results)
        .into_iter()
        .filter_map(|output| match output {
            Taken(taken) => taken.map(|value| must(value.json().to())),
            other => panic!("{other:?} is no item"),
        })
        .collect();
    taken.sort_unstable();
    assert_eq!(taken, (0..90).collect::<Vec<u64>>());
    assert_eq!(store.text(&key).await.as_deref(), Some("[]"));
}

async fn g097_a_value_is_taken_by_one_caller(store: TestStore) {
    let key = space("s").key("k");
    store.act(&key, set("\"once\"")).await;
    let results = at_once(&store, 16, |_| Batch::of([apply(&key, Operation::GetDel)])).await;
    let nothing = Taken(None);
    let mut taken = outputs(results);
    taken.retain(|output| *output != nothing);
    assert_eq!(taken, [Taken(Some(json("\"once\"").into()))]);
}

async fn g098_writers_of_a_set_leave_no_duplicate(store: TestStore) {
    let key = space("s").key("k");
    let results = at_once(&store, 40, |number| {
        let item = format!("{{\"b\":{},\"a\":1}}", number % 10);
        let again = format!("{{\"a\":1,\"b\":{}}}", (number + 1) % 10);
        Batch::of([apply(&key, add_to_set(&[&item, &again]))])
    })
    .await;
    results.into_iter().for_each(|result| drop(must(result)));
    let stored: Vec<crate::Json> = must(some(store.value(&key).await).value.to());
    let distinct: BTreeSet<String> = stored.iter().map(crate::Json::canonical).collect();
    assert_eq!((stored.len(), distinct.len()), (10, 10));
}

async fn batches_over_the_same_keys_in_any_order_all_succeed(store: TestStore) {
    let keys: Vec<_> = (0..6)
        .map(|number| space(&format!("s{}", number % 3)).key(format!("k{number}")))
        .collect();
    let results = at_once(&store, 60, |number| {
        let turned = (0..keys.len()).map(|step| (number * 7 + step * (1 + 4 * (number % 2))) % 6);
        let writes: Vec<BatchWrite> = turned.map(|at| apply(&keys[at], incr(1))).collect();
        Batch::of(writes)
    })
    .await;
    results.into_iter().for_each(|result| drop(must(result)));
    for key in &keys {
        assert_eq!(store.text(key).await.as_deref(), Some("60"), "{key}");
    }
}
