//! Logs: dense sequences, ids stored once, absent and empty apart.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, NewEntry, WriteOutcome};
use crate::driver::LogPage;

pub(super) const CASES: &[ConformanceCase] = cases![
    entries_are_numbered_from_one_without_gaps,
    an_id_is_stored_once_per_log,
    an_id_twice_in_one_write_is_stored_once,
    redacting_replaces_bodies_and_nothing_else,
    redacting_an_absent_log_does_not_make_it,
    logs_are_listed_by_space,
    g008_order_is_by_sequence_when_the_clock_is_set_back,
    g009_a_log_that_moved_since_it_was_read_conflicts,
    g009_a_log_cleared_since_it_was_read_conflicts,
    g012_a_batch_is_stored_as_it_was_at_the_call,
    g022_absent_and_empty_logs_differ,
    g083_twenty_thousand_entries_fit_one_batch,
    entries_bear_the_time_of_the_store,
];

async fn entries_are_numbered_from_one_without_gaps(store: TestStore) {
    let log = space("s").log("items");
    let first = store.append(&log, &[("a", "1"), ("b", "2")]).await;
    let WriteOutcome::Appended { head, seqs } = first else {
        panic!("{first:?} is no append");
    };
    assert_eq!((head.last, seqs), (2, vec![1, 2]));
    let generation = head.generation;
    assert_eq!(
        store.append(&log, &[("c", "3")]).await,
        WriteOutcome::appended(Head::new(generation, 3), vec![3])
    );
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "1"), entry(2, "b", "2"), entry(3, "c", "3")]
    );
}

async fn an_id_is_stored_once_per_log(store: TestStore) {
    let (log, other) = (space("s").log("items"), space("s").log("other"));
    store.append(&log, &[("a", "1"), ("b", "2")]).await;
    let generation = some(store.head(&log).await).generation;
    let again = append(&log, &[("b", "\"late\""), ("c", "3"), ("a", "9")]);
    assert_eq!(
        store.write(again).await,
        WriteOutcome::appended(Head::new(generation, 3), vec![2, 3, 1])
    );
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "1"), entry(2, "b", "2"), entry(3, "c", "3")]
    );
    store.append(&other, &[("a", "7")]).await;
    assert_eq!(store.entries(&other).await, [entry(1, "a", "7")]);
}

async fn an_id_twice_in_one_write_is_stored_once(store: TestStore) {
    let log = space("s").log("items");
    let batch = Batch::of([
        append(&log, &[("a", "1"), ("a", "2")]),
        append(&log, &[("a", "3"), ("b", "4")]),
    ]);
    let outcomes = must(store.commit(batch).await);
    let seqs: Vec<Vec<u64>> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            WriteOutcome::Appended { seqs, .. } => seqs,
            other => panic!("{other:?} is no append"),
        })
        .collect();
    assert_eq!(seqs, [vec![1, 1], vec![1, 2]]);
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "1"), entry(2, "b", "4")]
    );
}

async fn redacting_replaces_bodies_and_nothing_else(store: TestStore) {
    let log = space("s").log("items");
    store
        .append(&log, &[("a", "1"), ("b", "2"), ("c", "3")])
        .await;
    let mut expected = store.page(&log).await;
    let redact = BatchWrite::redact(
        log.clone(),
        vec![
            (0, json("0")),
            (1, json("null")),
            (3, json("{\"gone\":true}")),
            (4, json("4")),
        ],
    );
    assert_eq!(store.write(redact).await, WriteOutcome::Erased(2));
    expected.entries[0].body = json("null");
    expected.entries[2].body = json("{\"gone\":true}");
    assert_eq!(store.page(&log).await, expected);
}

async fn redacting_an_absent_log_does_not_make_it(store: TestStore) {
    let log = space("s").log("items");
    let redact = BatchWrite::redact(log.clone(), vec![(1, json("null"))]);
    assert_eq!(store.write(redact).await, WriteOutcome::Erased(0));
    assert_eq!(store.page(&log).await, LogPage::default());
    assert_eq!(store.log_names(&log.space).await, Vec::<String>::new());
}

async fn logs_are_listed_by_space(store: TestStore) {
    let (here, there) = (space("s"), space("t"));
    let batch = Batch::of([
        append(&here.log("items"), &[("a", "1")]),
        append(&here.log("Überblick"), &[]),
        append(&there.log("usage"), &[("a", "1")]),
        apply(&here.key("value"), set("1")),
    ]);
    must(store.commit(batch).await);
    assert_eq!(store.log_names(&here).await, ["items", "Überblick"]);
    assert_eq!(store.log_names(&there).await, ["usage"]);
}

async fn g008_order_is_by_sequence_when_the_clock_is_set_back(store: TestStore) {
    let log = space("s").log("items");
    store.append(&log, &[("c", "1"), ("b", "2")]).await;
    store.clock().set_back(HOUR);
    store.append(&log, &[("a", "3")]).await;
    let page = store.page(&log).await;
    let order: Vec<(u64, &str)> = page
        .entries
        .iter()
        .map(|entry| (entry.seq, entry.id.as_str()))
        .collect();
    assert_eq!(order, [(1, "c"), (2, "b"), (3, "a")]);
    assert!(
        page.entries[2].at < page.entries[0].at,
        "the clock was set back: {page:?}"
    );
    let key = space("s").key("k");
    let before = store.version_after(&key, set("1")).await;
    store.clock().set_back(HOUR);
    let after = store.version_after(&key, set("2")).await;
    assert!(before < after, "version {after} follows {before}");
}

async fn g009_a_log_that_moved_since_it_was_read_conflicts(store: TestStore) {
    let log = space("s").log("items");
    let absent = BatchCheck::head(log.clone(), None);
    let first = Batch::of([append(&log, &[("a", "1")])]).checking(absent.clone());
    must(store.commit(first).await);
    let seen = some(store.head(&log).await);
    let check = BatchCheck::head(log.clone(), Some(seen));
    let second = Batch::of([append(&log, &[("b", "2")])]).checking(check.clone());
    must(store.commit(second).await);
    let now = some(store.head(&log).await);
    for (check, expected) in [(absent, "nothing".to_owned()), (check, format!("{seen:?}"))] {
        let late = Batch::of([append(&log, &[("c", "3")])]).checking(check);
        assert_eq!(
            refusal(store.commit(late).await),
            format!("{log} changed since it was read: expected {expected}, found {now:?}")
        );
    }
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "1"), entry(2, "b", "2")]
    );
}

async fn g009_a_log_cleared_since_it_was_read_conflicts(store: TestStore) {
    let log = space("s").log("items");
    store.append(&log, &[("a", "1")]).await;
    let seen = some(store.head(&log).await);
    store.write(clear(&log.space)).await;
    store.append(&log, &[("a", "1")]).await;
    let now = some(store.head(&log).await);
    assert_eq!(now.last, seen.last);
    assert!(now.generation > seen.generation, "{now:?} follows {seen:?}");
    let late = Batch::of([append(&log, &[("b", "2")])])
        .checking(BatchCheck::head(log.clone(), Some(seen)));
    assert_eq!(
        refusal(store.commit(late).await),
        format!("{log} changed since it was read: expected {seen:?}, found {now:?}")
    );
}

async fn g012_a_batch_is_stored_as_it_was_at_the_call(store: TestStore) {
    let log = space("s").log("items");
    let mut ours = vec![new_entry("a", "{\"text\":\"before\"}")];
    let pending = store.commit(Batch::of([BatchWrite::append(log.clone(), ours.clone())]));
    ours[0].body = json("{\"text\":\"after\"}");
    ours[0].id.push('z');
    must(pending.await);
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "{\"text\":\"before\"}")]
    );
}

async fn g022_absent_and_empty_logs_differ(store: TestStore) {
    let log = space("s").log("items");
    assert_eq!(store.page(&log).await, LogPage::default());
    store.append(&log, &[]).await;
    let empty = store.page(&log).await;
    assert_eq!(empty.entries, []);
    let begun = some(empty.head);
    assert_eq!(begun.last, 0);
    store.append(&log, &[("a", "1")]).await;
    assert_eq!(store.head(&log).await, Some(Head { last: 1, ..begun }));
    store.write(clear(&log.space)).await;
    let cleared = some(store.head(&log).await);
    assert_eq!(cleared.last, 0);
    assert!(cleared.generation > begun.generation);
    store.write(remove(&log.space)).await;
    assert_eq!(store.page(&log).await, LogPage::default());
    store.append(&log, &[("a", "1")]).await;
    let again = some(store.head(&log).await);
    assert!(again.generation > cleared.generation);
}

async fn g083_twenty_thousand_entries_fit_one_batch(store: TestStore) {
    let count: u64 = if store.fixture.is_small() {
        2_000
    } else {
        20_000
    };
    let log = space("s").log("items");
    let new = |number: u64| {
        NewEntry::new(
            format!("{number:08}"),
            json(&format!("{{\"number\":{number}}}")),
        )
    };
    let outcome = store
        .write(BatchWrite::append(
            log.clone(),
            (1..=count).map(new).collect(),
        ))
        .await;
    let WriteOutcome::Appended { head, seqs } = outcome else {
        panic!("{outcome:?} is no append");
    };
    assert_eq!(head.last, count);
    assert_eq!(seqs, (1..=count).collect::<Vec<u64>>());
    let found = store.entries(&log).await;
    let expected: Vec<_> = (1..=count)
        .map(|number| {
            let new = new(number);
            (number, new.id, new.body.as_str().to_owned())
        })
        .collect();
    assert!(
        found == expected,
        "what was read differs from what was written"
    );
}

async fn entries_bear_the_time_of_the_store(store: TestStore) {
    let log = space("s").log("items");
    store.append(&log, &[("a", "1")]).await;
    store.clock().advance(HOUR);
    store.append(&log, &[("b", "2")]).await;
    let found = store.page(&log).await.entries;
    let passed = found[1].at - found[0].at;
    assert!(
        (millis(HOUR)..millis(HOUR + MINUTE)).contains(&passed),
        "an hour passed, not {passed} ms"
    );
}
